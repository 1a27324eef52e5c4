//! With hostile hosts, `wafer serve` uses no more memory than `--buffers` allows.

use std::time::{Duration, Instant};

use wafer_controller::identify::COPY_RANGE_BLOCKS;
use wafer_host::{Host, HostOptions, Io, Queue, QueueOptions, copy_ranges};
use wafer_nvme::zerocopy::IntoBytes as _;

use crate::serve::{NQN, Server, folder};

/// Bytes of `--buffers`.
const BUFFERS: u64 = 32 << 20;
/// Additional memory of a connection: its queues, tasks and small socket buffers.
const CONNECTION: u64 = 256 << 10;
const HOSTS: usize = 16;
const IO: Io = Io { nsid: 1 };
/// Blocks per command and commands outstanding per queue: 256 KiB, and the maximum of 2 MiB.
const SIZES: [(u32, usize); 2] = [(512, 60), (4096, 6)];

/// Returns the resident memory of a process in bytes.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Connects a host that sends data separately from its commands, so that the server requests it.
fn connect(server: &Server, name: &str) -> (Host, Vec<Queue>) {
    let mut options = HostOptions::new(NQN, name);
    options.queue = QueueOptions { in_capsule: 1024, ..QueueOptions::default() };
    let host = Host::connect(server.address, options).unwrap();
    let queues = (1..=4).map(|qid| host.io_queue(qid).unwrap()).collect();
    (host, queues)
}

/// Fills a queue with commands of one kind without reading completions.
fn fill(queue: &mut Queue, kind: usize, (blocks, depth): (u32, usize)) {
    let data = vec![1; (blocks * 512) as usize];
    while queue.outstanding() < depth {
        match kind {
            0 => queue.submit(IO.write(0, blocks, None), &data, 0),
            1 => queue.submit(IO.read(0, blocks), &[], data.len()),
            2 => queue.submit(IO.compare(0, blocks), &data, 0),
            _ => {
                let ranges = copy_ranges(0, 2047, COPY_RANGE_BLOCKS);
                queue.submit(IO.copy(1000, ranges.len(), None), ranges.as_bytes(), 0)
            }
        };
    }
    queue.flush().unwrap();
}

#[test]
fn hostile_queues_share_the_buffers() {
    let folder = folder(1);
    let buffers = (BUFFERS >> 20).to_string() + "MiB";
    let mut server = Server::start(folder.path(), &["--data", "memory", "--buffers", &buffers]);
    let mut hosts: Vec<_> = (0..HOSTS).map(|n| connect(&server, &format!("h{n}"))).collect();
    let idle = resident(server.child.id());
    for ((_, queues), size) in hosts.iter_mut().zip(SIZES.into_iter().cycle()) {
        for (kind, queue) in queues.iter_mut().enumerate() {
            fill(queue, kind, size);
        }
    }
    let (started, mut most) = (Instant::now(), 0);
    while started.elapsed() < Duration::from_secs(3) {
        most = most.max(resident(server.child.id()) - idle);
        std::thread::sleep(Duration::from_millis(20));
    }
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let queues = (HOSTS * 5) as u64;
    eprintln!("{queues} queues: {} KiB more than idle", most >> 10);
    assert!(most > BUFFERS / 8, "the hosts hold no buffers: {most}");
    assert!(most < BUFFERS + queues * CONNECTION, "{most} bytes for {queues} queues");
}
