use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use wafer_interface::{
    Bytes, Cause, GcPacing, MediaWork, OneOrMany, PowerConfig, RuId, RuhId, TimingConfig,
};
use wafer_media::{Done, Kind, Media, Part, Request, Shape, Work};

const SHAPE: Shape = Shape { page_bytes: 4096, pages_per_ru: 960, ru_count: 64, groups: 1 };

/// A drive whose only waits are for dies and buffer.
fn timing() -> TimingConfig {
    TimingConfig {
        dies: 4,
        planes: 2,
        independent_planes: false,
        plane_page: Bytes(16 << 10),
        cell_bits: 3,
        read_us: OneOrMany::One(50.0),
        program_us: 960.0,
        slc_program_us: None,
        slc_read_us: None,
        erase_us: 0.0,
        block: Bytes(1 << 20),
        slice_us: 100.0,
        erase_slice_us: 0.0,
        missed_slices: 0.0,
        resume_us: 0.0,
        channels: 4,
        channel_rate: Bytes(1 << 50),
        link_read: Bytes(1 << 50),
        link_write: Bytes(1 << 50),
        read_overhead_us: 0.0,
        write_overhead_us: 0.0,
        read_iops: None,
        write_iops: None,
        command_slots: None,
        arbitration_burst: None,
        write_buffer: Bytes(1 << 20),
        buffer_protected: true,
        gc_pacing: GcPacing::Smooth,
        gc_burst: Bytes(0),
        gc_buffered: false,
        gc_credit: None,
        gc_knee: 0.0,
        gc_host_rate: None,
        metadata: 0.0,
        power: PowerConfig::default(),
    }
}

struct Host {
    media: Media,
    random: Xoshiro256PlusPlus,
    done: Vec<Done>,
    ticket: u64,
    /// Where the next page is programmed.
    next: u64,
}

impl Host {
    fn new(timing: &TimingConfig) -> Self {
        Host {
            media: Media::new(timing, SHAPE).unwrap(),
            random: Xoshiro256PlusPlus::seed_from_u64(5),
            done: Vec::new(),
            ticket: 0,
            next: 0,
        }
    }

    /// Collects a reclaim unit with `pages` valid pages.
    fn collect(&mut self, at: u64, pages: u32) {
        let (kind, victim) = (Kind::Other, RuId(63));
        let cause = Cause::Relocation { victim };
        let work = [
            MediaWork::Read { ru: victim, first: 0, pages, cause },
            MediaWork::Program { ru: RuId(32), first: 0, pages, cause },
            MediaWork::Erase { ru: victim },
        ];
        let request = Request {
            ticket: 0,
            submitted: at,
            kind,
            page: 0,
            pages: 0,
            bytes: 0,
            durable: false,
            queue: 0,
        };
        self.media.advance(at, &mut self.done);
        self.media.submit(request, &work);
    }

    fn read(&mut self, at: u64) {
        let page = self.random.next_u64() >> 20;
        self.read_page(at, RuId((page % 64) as u32), page);
    }

    fn read_page(&mut self, at: u64, ru: RuId, page: u64) {
        self.media.advance(at, &mut self.done);
        self.ticket += 1;
        let request = Request {
            ticket: self.ticket,
            submitted: at,
            kind: Kind::Read,
            page,
            pages: 1,
            bytes: 4096,
            durable: false,
            queue: 1,
        };
        self.media.submit(
            request,
            &[MediaWork::Read { ru, first: page, pages: 1, cause: Cause::HostRead }],
        );
    }

    fn write(&mut self, at: u64, pages: u32) {
        self.media.advance(at, &mut self.done);
        self.ticket += 1;
        let bytes = u64::from(pages) * 4096;
        let request = Request {
            ticket: self.ticket,
            submitted: at,
            kind: Kind::Write,
            page: 1 << 50,
            pages,
            bytes,
            durable: false,
            queue: 0,
        };
        let ru = RuId((self.next / 960 % 64) as u32);
        let first = (self.next % 960) as u32;
        self.next += u64::from(pages);
        let cause = Cause::HostWrite(RuhId(0));
        self.media.submit(request, &[MediaWork::Program { ru, first, pages, cause }]);
    }

    fn finish(&mut self) {
        self.media.advance(u64::MAX, &mut self.done);
    }
}

fn exponential(random: &mut Xoshiro256PlusPlus, mean: f64) -> f64 {
    -(((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64).ln() * mean
}

/// Reads one die at random times, on average `gap` nanoseconds apart. Returns the mean wait behind other reads, and the
/// share of time in which the die was busy.
fn read_at_random(timing: TimingConfig, gap: f64) -> (f64, f64) {
    let mut host = Host::new(&TimingConfig { dies: 1, channels: 1, ..timing });
    let mut at = 0.0;
    for _ in 0..200_000 {
        at += exponential(&mut host.random, gap);
        host.read(at as u64);
    }
    host.finish();
    let wait: f64 = host.done.iter().map(|d| d.parts.0[Part::Reads as usize] as f64).sum();
    let busy = host.media.counts().dies.of(Work::HostRead) as f64 / at;
    (wait / host.done.len() as f64, busy)
}

/// Mean wait of a queue with random arrivals and constant service: rho * service / (2 * (1 - rho)).
#[test]
fn one_die_is_an_m_d_1_queue() {
    for load in [0.2, 0.5, 0.8] {
        let (mean, busy) = read_at_random(timing(), 50_000.0 / load);
        let expected = load * 50_000.0 / (2.0 * (1.0 - load));
        assert!((mean / expected - 1.0).abs() < 0.05, "{load}: {mean} {expected}");
        assert!((busy - load).abs() < 0.02, "{load}: {busy}");
    }
}

/// Independently reading planes are servers of one queue; the mean wait is Cosmetatos' approximation of M/D/c, which is
/// within 2 % for two.
#[test]
fn a_die_of_two_independent_planes_is_an_m_d_2_queue() {
    for load in [0.2, 0.5, 0.8] {
        let planes = TimingConfig { independent_planes: true, ..timing() };
        let (mean, busy) = read_at_random(planes, 25_000.0 / load);
        let m_m_2 = load * load / (1.0 - load * load) * 50_000.0;
        let expected = m_m_2 / 2.0 * (1.0 + (1.0 - load) * (14f64.sqrt() - 2.0) / (32.0 * load));
        assert!((mean / expected - 1.0).abs() < 0.05, "{load}: {mean} {expected}");
        // The die is idle when both planes are.
        let idle = (1.0 - load) / (1.0 + load);
        assert!((busy - (1.0 - idle)).abs() < 0.03, "{load}: {busy} {idle}");
    }
}

/// The planes of a die read a long extent at the same time, each its own part.
#[test]
fn independent_planes_read_a_page_of_all_planes_as_fast_as_together() {
    for independent_planes in [false, true] {
        let mut host = Host::new(&TimingConfig { dies: 1, independent_planes, ..timing() });
        let request = Request {
            ticket: 1,
            submitted: 0,
            kind: Kind::Read,
            page: 0,
            pages: 8,
            bytes: 8 << 12,
            durable: false,
            queue: 0,
        };
        let read = MediaWork::Read { ru: RuId(0), first: 0, pages: 8, cause: Cause::HostRead };
        host.media.submit(request, &[read]);
        host.finish();
        assert_eq!(host.done[0].parts.0[Part::Cells as usize], 50_000);
        assert_eq!(host.done[0].parts.0[Part::Reads as usize], 0);
        assert_eq!(host.media.counts().dies.of(Work::HostRead), 50_000);
    }
}

/// Neighbouring pages are read from the cells once, whether requested together or one after the other.
#[test]
fn pages_that_one_read_brings_are_read_once() {
    for independent_planes in [false, true] {
        for gap in [0, 7_000, 200_000] {
            let mut host = Host::new(&TimingConfig { independent_planes, ..timing() });
            for page in 0..320 {
                host.read_page(page * gap, RuId(5), page);
            }
            host.finish();
            // A page of a plane holds 4 pages, and a die has two planes.
            let senses = if independent_planes { 320 / 4 } else { 320 / 8 };
            let cells = |done: &Done| done.parts.0[Part::Cells as usize];
            if gap == 200_000 {
                let whole = host.done.iter().filter(|done| cells(done) == 50_000).count();
                let none = host.done.iter().filter(|done| cells(done) == 0).count();
                assert_eq!((whole, none), (senses, 320 - senses));
                let waits = |done: &Done| done.parts.total() - cells(done);
                assert!(host.done.iter().all(|done| waits(done) < 100));
            }
            let busy = host.media.counts().dies.of(Work::HostRead);
            if !independent_planes {
                assert_eq!(busy, senses as u64 * 50_000);
            }
            assert!(busy <= senses as u64 * 50_000, "{busy}");
        }
    }
}

/// A page stays in its register until the die does other work.
#[test]
fn a_program_takes_the_registers_of_its_die() {
    let mut host = Host::new(&TimingConfig { dies: 1, channels: 1, ..timing() });
    host.read_page(0, RuId(5), 0);
    host.read_page(100_000, RuId(5), 1);
    // One program, which begins at once.
    host.write(110_000, 24);
    host.read_page(2_000_000, RuId(5), 2);
    host.finish();
    let reads = host.done.iter().filter(|done| done.request.kind == Kind::Read);
    let cells: Vec<u64> = reads.map(|done| done.parts.0[Part::Cells as usize]).collect();
    assert_eq!(cells, [50_000, 0, 50_000]);
}

/// A read that meets a program waits half a slice on average.
#[test]
fn the_mean_wait_behind_programs_is_utilisation_times_half_a_slice() {
    let mut host = Host::new(&timing());
    // A program of 24 pages takes 960 us, so one page every 20 us keeps four dies half busy.
    let (mut at, mut read_at) = (0.0, 0.0);
    for _ in 0..400_000 {
        at += 20_000.0;
        while read_at < at {
            host.read(read_at as u64);
            read_at += exponential(&mut host.random, 1_000_000.0);
        }
        host.write(at as u64, 1);
    }
    host.finish();
    let reads: Vec<&Done> = host.done.iter().filter(|d| d.request.kind == Kind::Read).collect();
    let wait: f64 = reads.iter().map(|d| d.parts.0[Part::HostProgram as usize] as f64).sum();
    let mean = wait / reads.len() as f64;
    assert!((mean / 25_000.0 - 1.0).abs() < 0.05, "{mean}");
}

/// A drive that always has work programs at the rate of its dies, and no request completes before its submission.
#[test]
fn work_is_conserved() {
    let mut host = Host::new(&timing());
    let (mut flying, mut at, pages) = (0u64, 0, 32);
    let (mut answered, mut latencies) = (0, 0u128);
    for _ in 0..20_000 {
        while flying == 256 {
            at = host.media.next_event().unwrap().max(at);
            host.media.advance(at, &mut host.done);
            flying -= (host.done.len() - answered) as u64;
            answered = host.done.len();
        }
        host.write(at, pages);
        flying += 1;
        flying -= (host.done.len() - answered) as u64;
        answered = host.done.len();
    }
    host.finish();
    for done in &host.done {
        assert!(done.time >= done.request.submitted);
        assert_eq!(done.parts.total(), done.time - done.request.submitted);
        latencies += u128::from(done.time - done.request.submitted);
    }
    let end = host.done.iter().map(|d| d.time).max().unwrap();
    let rate = 20_000.0 * f64::from(pages) * 4096.0 / (end as f64 / 1e9);
    assert!((rate / timing().program_rate() - 1.0).abs() < 0.01, "{rate}");
    // Little's law: what is in flight is the rate times the latency.
    let mean = latencies as f64 / host.done.len() as f64;
    let in_flight = host.done.len() as f64 / end as f64 * mean;
    assert!((in_flight / 256.0 - 1.0).abs() < 0.03, "{in_flight}");
    let busy = host.media.counts().dies.of(Work::HostProgram) as f64 / (4.0 * end as f64);
    // The last programs end after the last write completes.
    assert!(busy < 1.001 && busy > 0.99, "{busy}");
}

/// What a program loses when it yields is time of the die, too.
#[test]
fn resuming_is_work() {
    let timing = TimingConfig { dies: 1, channels: 1, resume_us: 20.0, ..timing() };
    let mut host = Host::new(&timing);
    host.write(0, 24);
    host.read(110_000);
    host.read(410_000);
    host.finish();
    let of = |work| host.media.counts().dies.of(work);
    assert_eq!((of(Work::HostRead), of(Work::HostProgram)), (100_000, 960_000 + 2 * 20_000));
}

/// After a reset, the counts include the rest of the work under way.
#[test]
fn counts_that_begin_anew_have_the_rest_of_what_goes_on() {
    let mut host = Host::new(&timing());
    // Four programs, one a die: each die works from 0 to 960 us.
    host.write(0, 4 * 24);
    host.media.advance(1, &mut host.done);
    host.media.reset_counts(700_000);
    host.finish();
    let of = |until| host.media.counts_until(until).dies.of(Work::HostProgram);
    assert_eq!((of(700_000), of(800_000)), (0, 4 * 100_000));
    // The transfers over the channels delayed the programs by some nanoseconds.
    assert_eq!(of(2_000_000) / 100, 4 * 2_600);
}

/// Relocation takes its share of the dies: host and relocated pages together are programmed at the rate of the dies.
#[test]
fn the_media_rate_is_shared_with_garbage_collection() {
    let fast_reads = TimingConfig { read_us: OneOrMany::One(0.001), ..timing() };
    let mut host = Host::new(&fast_reads);
    // For every 240 host pages, a victim with 720 valid pages: WAF 4.
    let mut at = 0;
    for number in 0..48_000u64 {
        while host.ticket - host.done.len() as u64 >= 64 {
            at = host.media.next_event().unwrap().max(at);
            host.media.advance(at, &mut host.done);
        }
        host.media.advance(at, &mut host.done);
        host.ticket += 1;
        let ru = RuId((number / 960 % 32) as u32);
        let first = (number % 960) as u32;
        let mut work = Vec::new();
        if number.is_multiple_of(240) {
            let (victim, to) = (RuId(63), RuId(32 + (number / 240 % 16) as u32));
            let cause = Cause::Relocation { victim };
            work.push(MediaWork::Read { ru: victim, first: 0, pages: 720, cause });
            work.push(MediaWork::Program { ru: to, first: 0, pages: 720, cause });
            work.push(MediaWork::Erase { ru: victim });
        }
        work.push(MediaWork::Program { ru, first, pages: 1, cause: Cause::HostWrite(RuhId(0)) });
        let request = Request {
            ticket: host.ticket,
            submitted: at,
            kind: Kind::Write,
            page: number,
            pages: 1,
            bytes: 4096,
            durable: false,
            queue: 0,
        };
        host.media.submit(request, &work);
    }
    host.finish();
    let end = host.done.iter().map(|d| d.time).max().unwrap() as f64 / 1e9;
    let rate = 48_000.0 * 4096.0 * 4.0 / end;
    assert!((rate / fast_reads.program_rate() - 1.0).abs() < 0.03, "{rate}");
}

/// Relocation caused by reads is programmed while hosts read, even if nobody writes.
#[test]
fn moves_that_reads_cause_take_time() {
    let mut host = Host::new(&timing());
    let (mut at, mut moved) = (0, 0);
    for number in 0..20_000u64 {
        at += 50_000;
        host.read(at);
        if number.is_multiple_of(500) {
            let (victim, to) = (RuId(63), RuId(32 + (number / 500 % 16) as u32));
            let cause = Cause::Relocation { victim };
            let (kind, page, pages) = (Kind::Read, 0, 1);
            let request = Request {
                ticket: 0,
                submitted: at,
                kind,
                page,
                pages,
                bytes: 0,
                durable: false,
                queue: 0,
            };
            let work = [
                MediaWork::Read { ru: victim, first: 0, pages: 960, cause },
                MediaWork::Program { ru: to, first: 0, pages: 960, cause },
                MediaWork::Erase { ru: victim },
            ];
            host.media.submit(request, &work);
            moved += 960;
        }
    }
    host.finish();
    let program = timing().program_bytes() / 4096;
    let programs = host.media.counts().dies.of(Work::GcProgram) / 960_000;
    let most = moved / program;
    assert!(programs > most * 9 / 10 && programs <= most, "{programs} of {most}");
}

/// When relocated data occupies the write buffer, a host waits until what is left of a burst fits into the buffer.
#[test]
fn hosts_wait_for_what_a_burst_leaves_of_the_buffer() {
    let wait = |gc_buffered| {
        let config = TimingConfig {
            read_us: OneOrMany::One(0.001),
            gc_pacing: GcPacing::Burst,
            gc_burst: Bytes(720 * 4096),
            gc_buffered,
            ..timing()
        };
        let mut host = Host::new(&config);
        let (victim, to) = (RuId(63), RuId(32));
        let cause = Cause::Relocation { victim };
        let work = [
            MediaWork::Read { ru: victim, first: 0, pages: 720, cause },
            MediaWork::Program { ru: to, first: 0, pages: 720, cause },
            MediaWork::Erase { ru: victim },
            MediaWork::Program {
                ru: RuId(1),
                first: 0,
                pages: 240,
                cause: Cause::HostWrite(RuhId(0)),
            },
        ];
        let request = Request {
            ticket: 0,
            submitted: 0,
            kind: Kind::Write,
            page: 0,
            pages: 240,
            bytes: 240 * 4096,
            durable: false,
            queue: 0,
        };
        host.media.submit(request, &work);
        host.write(1000, 1);
        host.finish();
        host.done.iter().find(|done| done.request.ticket == 1).unwrap().parts.0
            [Part::Buffer as usize]
    };
    assert_eq!(wait(false), 0);
    // 960 pages in 40 programs on four dies; the buffer holds 256 pages, and the host needs one of them.
    let least = (960 - 256) / 24 / 4 * 960_000;
    let waited = wait(true);
    assert!(waited >= least - 2 * 960_000 && waited <= 10 * 960_000, "{waited} {least}");
}

/// At any pace of relocation, a read of the cells yields all valid pages of its unit.
#[test]
fn relocation_reads_whole_units_at_any_pace() {
    let reads = |writes: u32| {
        let mut host = Host::new(&TimingConfig { read_us: OneOrMany::One(1.0), ..timing() });
        // The victim is fully valid; a unit has eight pages.
        host.collect(0, 960);
        for number in 0..writes {
            host.write(u64::from(number) * 1000, 960 / writes);
        }
        host.finish();
        host.media.counts().dies.of(Work::BackgroundRead) / 1000
    };
    assert_eq!((reads(1), reads(320)), (120, 120));
}

/// Pages written together are valid together. From a half-valid victim, a read of the cells yields whole units if
/// writes are at least that long; if they are short, it yields the pages that happen to be valid in its unit.
#[test]
fn reads_of_a_victim_follow_the_length_of_writes() {
    let reads = |pages: u32| {
        let mut host = Host::new(&TimingConfig { read_us: OneOrMany::One(1.0), ..timing() });
        for number in 0..2048 / u64::from(pages) {
            host.write(number * 1000, pages);
        }
        let now = 1_000_000_000;
        host.collect(now, 480);
        host.write(now, 480);
        host.finish();
        host.media.counts().dies.of(Work::BackgroundRead) / 1000
    };
    // 120 units of eight pages: half of them, three quarters where each holds two writes, all.
    assert_eq!((reads(32), reads(8)), (60, 60));
    assert!((90..=91).contains(&reads(4)) && reads(1) == 120, "{} {}", reads(4), reads(1));
}

/// Writes that wait for the buffer hold their command slots. A read waits for a free slot, as long as the programs of
/// the writes ahead of it in the submission queue take.
#[test]
fn reads_wait_behind_writes_that_hold_all_command_slots() {
    let read_after = |slots: Option<u32>, burst: Option<u32>| {
        let timing = TimingConfig { command_slots: slots, arbitration_burst: burst, ..timing() };
        let mut host = Host::new(&timing);
        // As many writes as fill the buffer of 1 MiB, and 64 more, of a program each, that wait for room.
        for _ in 0..64 + 1024 / 96 {
            host.write(0, 24);
        }
        host.read(0);
        let ticket = host.ticket;
        host.media.advance(u64::MAX, &mut host.done);
        let read = host.done.iter().find(|done| done.request.ticket == ticket).unwrap();
        (read.time, read.parts.0[Part::Controller as usize])
    };
    assert!(read_after(None, None).0 <= 1_000_000);
    assert_eq!(read_after(None, None), read_after(Some(100), Some(8)));
    // 33 of the waiting writes leave first, four at a time: nine programs, and a transfer of nearly no time. A turn of
    // 16 begins with the ten writes that the buffer takes at once, so seven leave first.
    for (burst, programs) in [(None, 9), (Some(100), 9), (Some(16), 2)] {
        let (time, waited) = read_after(Some(32), burst);
        let programs = programs * 960_000;
        assert!((programs..programs + 100).contains(&waited), "{burst:?}: {waited}");
        assert!(time > waited);
    }
}

/// A die reads a mapping unit of 16 KiB as a whole and sends the part that the host requests, or all of it if the data
/// stays on the drive.
#[test]
fn a_read_of_a_part_of_a_page_sends_that_part() {
    for (bytes, sent) in [(512, 4096), (4096, 4096), (6144, 8192), (16384, 16384), (0, 16384)] {
        let shape = Shape { page_bytes: 16384, ..SHAPE };
        let mut media = Media::new(&timing(), shape).unwrap();
        let kind = Kind::Read;
        let (ticket, submitted, page, pages, durable, queue) = (1, 0, 7, 1, false, 0);
        let request = Request { ticket, submitted, kind, page, pages, bytes, durable, queue };
        let cause = Cause::HostRead;
        media.submit(request, &[MediaWork::Read { ru: RuId(0), first: page, pages, cause }]);
        media.advance(u64::MAX, &mut Vec::new());
        assert_eq!(media.counts().channel_bytes, sent, "{bytes}");
    }
}
