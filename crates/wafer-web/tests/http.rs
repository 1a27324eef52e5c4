//! The server with a source that counts its calls.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use wafer_interface::{Counters, HandleCounters};
use wafer_record::record::Provenance;
use wafer_record::{Event, Live, ReclaimUnits, Snapshot};
use wafer_web::live::{Config, Limits, LiveSource, Server, serve};

#[derive(Default)]
struct Source {
    asked: AtomicU64,
    units_asked: AtomicU64,
}

impl LiveSource for Source {
    fn name(&self) -> String {
        "a \"drive\"\n".to_owned()
    }

    fn provenance(&self) -> Provenance {
        Provenance { version: "test".to_owned(), ..Provenance::default() }
    }

    fn snapshot(&self) -> Snapshot {
        let n = self.asked.fetch_add(1, Ordering::Relaxed);
        let handle = HandleCounters { host_bytes: n, media_bytes: 2 * n, erased_bytes: 0 };
        Snapshot {
            seconds: n as f64,
            counters: Counters { host_bytes: n, media_bytes: 2 * n, ..Counters::default() },
            handles: Snapshot::keyed(&[handle; 2], None),
            live: Live {
                state: "running".to_owned(),
                events: vec![Event {
                    number: 1,
                    seconds: 0.0,
                    kind: "media reallocated".to_owned(),
                    text: "line\nbreak".to_owned(),
                }],
                ..Live::default()
            },
            ..Snapshot::default()
        }
    }

    fn reclaim_units(&self) -> Option<ReclaimUnits> {
        self.units_asked.fetch_add(1, Ordering::Relaxed);
        None
    }

    fn control(&self, request: &[u8]) -> (u16, String) {
        (200, format!("{{\"bytes\":{}}}", request.len()))
    }
}

fn start() -> (Arc<Source>, Server) {
    let source = Arc::new(Source::default());
    let config = Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        token: None,
        control: Some("operator-1".to_owned()),
        interval: Duration::from_millis(20),
        limits: Limits { silence: Duration::from_millis(500), connections: 80 },
    };
    let server = serve(source.clone(), &config).unwrap();
    (source, server)
}

/// Sends a request and returns its status line and the rest of the response.
fn request(server: &Server, path: &str) -> (String, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).unwrap();
    let mut reader = BufReader::new(stream);
    let mut status = String::new();
    reader.read_line(&mut status).unwrap();
    (status.trim().to_owned(), reader)
}

/// Sends a request of an operator with these headers, and returns the status line and the body.
fn control(server: &Server, method: &str, headers: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let host = server.address;
    write!(
        stream,
        "{method} /ctl HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(!head.to_lowercase().contains("access-control-"), "{head}");
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

#[test]
fn requests_of_operators_need_their_token_and_no_other_site() {
    const JSON: &str = "Content-Type: application/json\r\n";
    const TOKEN: &str = "Authorization: Bearer operator-1\r\n";
    let (_source, server) = start();
    let own = format!("Origin: http://{}\r\n", server.address);
    for headers in [format!("{JSON}{TOKEN}"), format!("{JSON}{TOKEN}{own}")] {
        let (status, body) = control(&server, "POST", &headers, "{}");
        assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 200 OK", "{\"bytes\":2}"));
    }
    let long = "x".repeat((16 << 10) + 1);
    for (method, headers, body, code) in [
        ("POST", JSON.to_owned(), "{}", 401),
        ("POST", format!("{JSON}Authorization: Bearer operator-2\r\n"), "{}", 401),
        ("POST", format!("{JSON}Cookie: wafer-token=operator-1\r\n"), "{}", 401),
        ("POST", TOKEN.to_owned(), "{}", 415),
        ("POST", format!("{TOKEN}Content-Type: text/plain\r\n"), "{}", 415),
        ("POST", format!("{JSON}{TOKEN}Origin: http://evil.example\r\n"), "{}", 403),
        ("POST", format!("{JSON}{TOKEN}Origin: null\r\n"), "{}", 403),
        ("POST", format!("{JSON}{TOKEN}Sec-Fetch-Site: cross-site\r\n"), "{}", 403),
        ("POST", format!("{JSON}{TOKEN}"), long.as_str(), 413),
        ("OPTIONS", "Origin: http://evil.example\r\n".to_owned(), "", 405),
        ("GET", format!("{JSON}{TOKEN}"), "", 405),
        ("PUT", format!("{JSON}{TOKEN}"), "{}", 405),
    ] {
        let (status, _) = control(&server, method, &headers, body);
        assert!(status.starts_with(&format!("HTTP/1.1 {code} ")), "{method} {headers}: {status}");
    }
    let config = Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        token: None,
        control: None,
        interval: Duration::from_millis(20),
        limits: Limits { silence: Duration::from_millis(500), connections: 80 },
    };
    let without = serve(Arc::new(Source::default()), &config).unwrap();
    let (status, _) = control(&without, "POST", &format!("{JSON}{TOKEN}"), "{}");
    assert!(status.starts_with("HTTP/1.1 405 "), "{status}");
}

/// Returns the name and data of the next event of a stream.
fn event(reader: &mut impl std::io::BufRead) -> (String, Value) {
    let mut name = String::new();
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the stream ended");
        if let Some(text) = line.strip_prefix("event: ") {
            name = text.trim().to_owned();
        } else if let Some(text) = line.strip_prefix("data: ") {
            return (name, serde_json::from_str(text).unwrap());
        }
    }
}

#[test]
fn a_viewer_gets_the_record_and_then_states() {
    let (_source, server) = start();
    let (status, mut reader) = request(&server, "/api/v1/events");
    assert_eq!(status, "HTTP/1.1 200 OK");
    let (name, page) = event(&mut reader);
    let record = &page["runs"][0]["record"];
    assert_eq!((name.as_str(), &record["name"]), ("page", &json!("a \"drive\"\n")));
    assert_eq!(record["live"]["events"][0]["text"], "line\nbreak");
    let mut last = record["summary"]["host_bytes"].as_u64().unwrap();
    for _ in 0..3 {
        let (name, state) = event(&mut reader);
        let host = state["counters"]["host_bytes"].as_u64().unwrap();
        assert_eq!(name, "state");
        assert!(host > last);
        last = host;
    }
}

#[test]
fn the_source_is_asked_as_often_however_many_look() {
    let (source, server) = start();
    let units = || source.units_asked.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(units(), 0, "reclaim units are read only while somebody looks");
    let mut viewers: Vec<_> = (0..64).map(|_| request(&server, "/api/v1/events").1).collect();
    for viewer in &mut viewers {
        assert_eq!(event(viewer).0, "page");
    }
    let (status, _) = request(&server, "/api/v1/events");
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
    let asked = || source.asked.load(Ordering::Relaxed);
    let (before, units_before) = (asked(), units());
    for _ in 0..5 {
        event(&mut viewers[0]);
    }
    // The 63 others read nothing during this.
    let (samples, walks) = (asked() - before, units() - units_before);
    assert!(walks <= samples + 1, "{walks} walks in {samples} samples");
    drop(viewers);
    // A slot is free once the server notices that its viewer is gone.
    let free = || request(&server, "/api/v1/events").0 == "HTTP/1.1 200 OK";
    assert!((0..200).any(|_| free() || {
        std::thread::sleep(Duration::from_millis(50));
        false
    }));
}

#[test]
fn an_address_in_use_is_an_error() {
    let (_source, server) = start();
    let config = Config {
        listen: server.address,
        token: None,
        control: None,
        interval: Duration::from_secs(1),
        limits: Limits::default(),
    };
    let error = serve(Arc::new(Source::default()), &config).err().unwrap().to_string();
    assert!(error.starts_with(&server.address.to_string()), "{error}");
}

#[test]
fn off_loopback_a_token_is_made() {
    let config = Config {
        listen: SocketAddr::from(([0, 0, 0, 0], 0)),
        token: None,
        control: None,
        interval: Duration::from_secs(1),
        limits: Limits::default(),
    };
    let server = serve(Arc::new(Source::default()), &config).unwrap();
    let token = server.url.split_once("?token=").unwrap().1.to_owned();
    assert_eq!(token.len(), 32);
    let at = |path: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.address.port())).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status).unwrap();
        status.trim().to_owned()
    };
    assert_eq!(at("/metrics"), "HTTP/1.1 401 Unauthorized");
    assert_eq!(at(&format!("/metrics?token={token}")), "HTTP/1.1 200 OK");
}

/// Reads to the end and returns the bytes; fails if the server keeps the connection open.
fn rest(mut stream: &TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut bytes = Vec::new();
    if let Err(error) = std::io::Read::read_to_end(&mut stream, &mut bytes) {
        assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "the connection stays open");
    }
    bytes
}

#[test]
fn silent_peers_are_cut_off() {
    let (_source, server) = start();
    let silent = TcpStream::connect(server.address).unwrap();
    let mut slow = TcpStream::connect(server.address).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    // Sending a byte at a time does not extend the time limit.
    let mut dripping = slow.try_clone().unwrap();
    let dripped = std::thread::spawn(move || {
        (0..100)
            .take_while(|_| {
                std::thread::sleep(Duration::from_millis(100));
                dripping.write_all(b"x").is_ok()
            })
            .count()
    });
    let (status, idle) = request(&server, "/metrics");
    assert_eq!(status, "HTTP/1.1 200 OK");
    rest(&silent);
    rest(&slow);
    rest(idle.get_ref());
    assert!(dripped.join().unwrap() < 100);
}

#[test]
fn connections_beyond_the_limit_are_closed() {
    let (_source, server) = start();
    let held: Vec<_> = (0..80).map(|_| request(&server, "/api/v1/record").1).collect();
    assert_eq!(rest(&TcpStream::connect(server.address).unwrap()), b"");
    drop(held);
    // Their slots are free again soon.
    assert!((0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        let mut stream = TcpStream::connect(server.address).unwrap();
        write!(stream, "GET /metrics HTTP/1.0\r\nHost: {}\r\n\r\n", server.address).unwrap();
        rest(&stream).starts_with(b"HTTP/1.0 200 OK")
    }));
}
