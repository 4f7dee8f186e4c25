//! A server and its client over the loopback. `tests/test_serve_abuse.py` tests the server against misuse.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cwndlab_fetch::fetch::{fetch, FetchOptions, FetchResult};
use cwndlab_live::certificate::Certificate;
use cwndlab_live::limits::Limits;
use cwndlab_live::server::{Server, Settings};
use cwndlab_live::tokens::Tokens;
use cwndlab_live::Classes;
use proptest::prelude::*;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn start_server(overrides: &[(&str, f64)]) -> Server {
    let mut limits = Limits::default();
    limits.set(overrides.iter().copied()).unwrap();
    let settings = Settings {
        listen: "127.0.0.1:0".to_owned(),
        certificate: Certificate::self_signed(&["localhost".to_owned()]).unwrap(),
        tokens: Tokens::parse(&format!("anna {TOKEN}\n"), "tokens").unwrap(),
        limits,
        quic: Some(Classes::default()),
    };
    Server::start(settings).unwrap()
}

fn fetch_from(server: &Server, transport: &str, algorithm: &str, size_bytes: u64) -> FetchResult {
    let options = FetchOptions {
        url: format!("https://{}", server.address()),
        token: TOKEN.to_owned(),
        algorithm: Some(algorithm.to_owned()),
        size_bytes,
        first_byte: 0,
        transport: transport.to_owned(),
        trust: Some(server.fingerprint().to_owned()),
        timeout: Duration::from_secs(60),
    };
    fetch(&options, &AtomicBool::new(false), &mut |_| true).unwrap()
}

#[test]
fn a_transfer_completes_over_both_transports_under_the_named_algorithm() {
    let server = start_server(&[]);
    for (transport, requested, algorithm) in
        [("tcp", "reno", "reno"), ("quic", "cubic", "cubic+hystart-pp"), ("quic", "quinn:bbr", "quinn:bbr")]
    {
        let result = fetch_from(&server, transport, requested, 2_000_000);
        assert_eq!((result.ended.as_str(), result.received_bytes), ("complete", 2_000_000), "{transport}");
        assert_eq!(result.algorithm, algorithm);
        assert_eq!(result.sender.unwrap()["ended"], "complete");
    }
    assert_eq!(server.counters().complete.load(Ordering::Relaxed), 3);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The server closes a connection that sends no valid TLS, and serves the next one.
    #[test]
    fn bytes_other_than_tls_are_rejected(begin in prop::option::of(Just(22u8)), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        static SERVER: std::sync::OnceLock<Server> = std::sync::OnceLock::new();
        let loose = [("attempts_per_address_per_s", 1e5), ("attempts_per_prefix_per_s", 1e5), ("handshakes_per_s", 1e5)];
        let server = SERVER.get_or_init(|| start_server(&loose));
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let text: Vec<u8> = begin.into_iter().chain(bytes).collect();
        let _ = stream.write_all(&text);
        let _ = stream.shutdown(Shutdown::Write);
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        prop_assert!(response.len() < 1000);
        prop_assert_eq!(server.counters().requests.load(Ordering::Relaxed), 0);
        prop_assert_eq!(server.counters().panics.load(Ordering::Relaxed), 0);
    }
}
