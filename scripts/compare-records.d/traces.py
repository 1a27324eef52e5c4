"""Writes small traces in every format, with the same requests on every machine and in every Python version."""

import gzip
import json
import struct
from dataclasses import dataclass

SPAN = 192 << 20
"""Bytes that the addresses of a trace lie in."""
REQUESTS = 25_000
BLOCK = 4096


@dataclass
class Request:
    """One request; times in nanoseconds, addresses in bytes."""

    time: int
    kind: str
    offset: int
    length: int
    volume: int
    process: int


class Random:
    """A linear congruential generator (Knuth's MMIX): unlike `random`, the same in all versions of Python."""

    def __init__(self, seed):
        self.state = seed
        self.below(1)

    def below(self, limit):
        """Returns a whole number from 0 to the limit, exclusive."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self.state >> 33) * limit >> 31


def requests(seed, volumes=1, span=SPAN, count=REQUESTS):
    """Yields requests of three processes, which write to a hot region, anywhere, and in a ring."""
    random, time, ring = Random(seed), 0, 0
    blocks = span // BLOCK
    for _ in range(count):
        time += 20_000 + random.below(180_000)
        process = random.below(3)
        length = BLOCK << random.below(4)
        if process == 0:
            block = random.below(blocks // 8)
        elif process == 1:
            block = random.below(blocks)
        else:
            length = 16 * BLOCK
            block, ring = ring, (ring + 16) % blocks
        block = min(block, blocks - length // BLOCK)
        dice = random.below(100)
        kind = "R" if dice < 10 else "D" if dice < 12 else "W"
        yield Request(time, kind, block * BLOCK, length, random.below(volumes), process)


def lines(folder, name, header, format_one, trace):
    """Writes a text trace, with a line for each request that the format can express."""
    texts = (format_one(request) for request in trace)
    (folder / name).write_text("".join(line + "\n" for line in (*header, *filter(None, texts))))


def records(folder, name, format_one, trace):
    """Writes a binary trace."""
    (folder / name).write_bytes(b"".join(map(format_one, trace)))


def iolog(folder):
    """Writes iologs of fio."""
    device = "/dev/nvme0n1"
    words = {"R": "read", "W": "write", "D": "trim"}
    first = ("fio version 2 iolog", f"{device} add", f"{device} open")

    def request(r):
        return f"{device} {words[r.kind]} {r.offset} {r.length}"

    lines(folder, "fio-2.log", first, request, requests(1))
    first = ("fio version 3 iolog", f"0 {device} add", f"0 {device} open")
    lines(folder, "fio-3.log", first, lambda r: f"{r.time // 10**6} {request(r)}", requests(2))


def tables(folder):
    """Writes the formats of public collections."""
    sector, half = 512, SPAN // 2

    def msr(r):
        kind = {"R": "Read", "W": "Write"}.get(r.kind)
        time = 128166372003061629 + r.time // 100
        return kind and f"{time},src1,{r.volume},{kind},{r.offset},{r.length},1331"

    def alibaba(r):
        time = 1577808144360767 + r.time // 1000
        return r.kind in "RW" and f"{419 + r.volume},{r.kind},{r.offset},{r.length},{time}"

    def tencent(r):
        kind = {"R": 0, "W": 1}.get(r.kind)
        time = 1538323199 + r.time // 10**9
        place = f"{r.offset // sector},{r.length // sector}"
        return kind is not None and f"{time},{place},{kind},{1063 + r.volume}"

    def spc(r):
        seconds, rest = divmod(r.time // 1000, 10**6)
        place = f"{r.offset // sector},{r.length}"
        return r.kind in "RW" and f"{r.volume},{place},{r.kind},{seconds}.{rest:06}"

    def disksim(r):
        kind = {"R": 1, "W": 0}.get(r.kind)
        return kind is not None and f"{r.time} {r.volume} {r.offset // sector} {r.length // sector} {kind}"

    lines(folder, "msr.csv", (), msr, requests(3, volumes=2, span=half))
    header = ("device_id,opcode,offset,length,timestamp",)
    lines(folder, "alibaba.csv", header, alibaba, requests(4, volumes=2, span=half))
    lines(folder, "tencent.csv", (), tencent, requests(5, volumes=3, span=SPAN // 3))
    lines(folder, "financial.spc", (), spc, requests(6, volumes=2, span=half))
    lines(folder, "mqsim.trace", (), disksim, requests(7))
    packed = gzip.compress((folder / "msr.csv").read_bytes(), mtime=0)
    (folder / "msr.csv.gz").write_bytes(packed)


def block_layer(folder):
    """Writes the formats of block layers: text and records of blktrace, and vSCSI."""
    names = ("jbd2/sda1-8", "cc1", "fstrim")

    def text(r):
        seconds, rest = divmod(r.time, 10**9)
        start = f"  8,{16 * r.volume}   1 {1:8} {seconds:5}.{rest:09} {700 + r.process:5}"
        return f"{start}  D   {r.kind} {r.offset // 512} + {r.length // 512} [{names[r.process]}]"

    def binary(r):
        category = {"R": 1 << 0, "W": 1 << 1, "D": 1 << 13 | 1 << 1}[r.kind]
        issue = category << 16 | 7
        place = r.time, r.offset // 512, r.length
        return struct.pack("<IIQQIIIIIHH", 0x65617407, 0, *place, issue, 700 + r.process, 8 << 20, 0, 0, 0)

    def scsi(r):
        command = {"R": 0x28, "W": 0x2A, "D": 0x42}[r.kind]
        return struct.pack("<HHIIIQQQ", command, 2 << 8, 0, r.length, 1, r.offset // 512, r.time // 1000, 0)

    lines(folder, "blkparse.txt", (), text, requests(8, volumes=2, span=SPAN // 2))
    records(folder, "sda.blktrace", binary, requests(9))
    records(folder, "vscsi.bin", scsi, requests(10))


def zstd(data):
    """Returns a zstd frame of raw blocks (RFC 8878), without compression and checksum."""
    blocks = []
    for at in range(0, len(data), 1 << 17):
        block = data[at : at + (1 << 17)]
        last = at + len(block) == len(data)
        blocks.append(struct.pack("<I", len(block) << 3 | last)[:3] + block)
    # No content size, a window of 128 KiB.
    return struct.pack("<IBB", 0xFD2FB528, 0, 7 << 3) + b"".join(blocks)


def capture(folder, name, trace, namespaces, placements, update_every):
    """Writes a capture (docs/reference/capture-format.md) with placement identifiers and reclaim unit updates."""
    header = {
        "format": "wafer.capture/1",
        "software": "compare-records",
        "started_unix_ms": 0,
        "device": {},
        "geometry": {
            "page_bytes": BLOCK,
            "logical_pages": namespaces * SPAN // BLOCK,
            "pages_per_ru": 256,
            "ru_count": namespaces * SPAN // BLOCK // 256 * 5 // 4,
            "groups": 1,
            "handles": placements,
        },
        "namespaces": [
            {"namespace": n, "blocks": SPAN // 512, "lba_bytes": BLOCK, "handles": list(range(placements))}
            for n in range(namespaces)
        ],
    }
    operations, record = {"W": 0, "D": 1, "R": 2}, struct.Struct("<QIHBBIHH")
    body, before = [], 0
    for index, r in enumerate(trace):
        op = operations[r.kind]
        placement = r.process % placements if op == 0 else 0xFFFF
        delta, before = r.time - before, r.time
        body.append(record.pack(r.offset // 512, r.length // 512, placement, op, r.volume, delta, 0, 0))
        if update_every and index % update_every == update_every - 1:
            body.append(record.pack(0, 0, index // update_every % placements, 4, r.volume, 0, 0, 0))
    text = json.dumps(header).encode()
    start = struct.pack("<8sHHI", b"WAFERCAP", 1, 0, len(text)) + text
    (folder / name).write_bytes(start + zstd(b"".join(body)))


def write(folder):
    """Writes all traces into a new folder."""
    folder.mkdir()
    iolog(folder)
    tables(folder)
    block_layer(folder)
    capture(folder, "updates.trace", requests(11), namespaces=1, placements=3, update_every=100)
    two = requests(12, volumes=2)
    capture(folder, "two-namespaces.trace", two, namespaces=2, placements=2, update_every=0)
