//! Workloads in scenarios: their configurations, and their error messages.

use cwndlab_algorithms::catalogue;
use cwndlab_scenario::plan::{Distribution, Plan, Workload};
use cwndlab_scenario::Scenario;
use cwndlab_units::{Bytes, Rate};
use proptest::prelude::*;

fn read(flow: &str) -> Result<Plan, String> {
    let text = format!(
        "schema_version = 1\nduration = \"10 s\"\n[dumbbell]\nbottleneck = {{ rate = \"10 Mbps\", delay = \"10 ms\" }}\n[[flow]]\nrtt = \"40 ms\"\n{flow}"
    );
    let join =
        |faults: Vec<cwndlab_units::Fault>| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let scenario = Scenario::from_toml(&text, Some(std::env::temp_dir().as_path())).map_err(join)?;
    scenario.plan(&catalogue()).map(|(plan, _)| plan).map_err(join)
}

fn tcp(workload: &str) -> Result<Workload, String> {
    read(&format!("algorithm = \"reno\"\nworkload = {{ {workload} }}"))
        .map(|plan| plan.flows[0.into()].workload.clone())
}

fn udp(workload: &str) -> Result<Workload, String> {
    read(&format!("transport = \"udp\"\nworkload = {{ {workload} }}")).map(|plan| plan.flows[0.into()].workload.clone())
}

#[test]
fn datagrams_have_neither_algorithm_nor_stack() {
    let plan =
        read("transport = \"udp\"\nworkload = { kind = \"cbr\", rate = \"2 Mbps\", packet = \"500 B\" }").unwrap();
    let flow = &plan.flows[0.into()];
    assert!(flow.algorithm.is_none());
    assert_eq!((&*flow.algorithm_text, &*flow.profile), ("none", "udp"));
    assert_eq!((flow.stack.mss, flow.stack.header), (Bytes(472), Bytes(28)));
    let Workload::Cbr(cbr) = &flow.workload else { panic!("{flow:?}") };
    assert_eq!(cbr.packets.rate, Rate::from_mbps(2));
}

/// By hand: the mean size of a frame at 4 Mbit/s and 25 frames per second is 20,000 bytes.
#[test]
fn the_mean_frame_size_is_rate_over_frame_rate() {
    for sizes in ["log-normal", "gamma"] {
        let found = udp(&format!("kind = \"vbr\", rate = \"4 Mbps\", sizes = \"{sizes}\"")).unwrap();
        let Workload::Vbr(video) = found else { panic!("{found:?}") };
        assert_eq!(video.interval().as_nanos(), 40_000_000);
        assert!((video.size().mean() - 20_000.0).abs() < 1e-6, "{}", video.size().mean());
    }
}

/// By hand: half of 10 Mbit/s in transfers of 14,480 bytes, ten segments of 1448 with headers of 52 bytes, and a SYN of
/// 52, are 5·10⁶ / 120,416 per second.
#[test]
fn a_load_becomes_arrivals_per_second() {
    let found = tcp("kind = \"arrivals\", load = 0.5, size = \"14480 B\"").unwrap();
    let Workload::Arrivals(arrivals) = found else { panic!("{found:?}") };
    let Some(rate) = arrivals.per_second else { panic!("{arrivals:?}") };
    assert!((rate - 5e6 / 120_416.0).abs() < 1e-9, "{rate}");
    assert_eq!(arrivals.connections, 10_000);
}

#[test]
fn constant_periods_are_constant_distributions() {
    let found = tcp("kind = \"on-off\", on = \"5 s\", off = \"2 s\"").unwrap();
    let Workload::OnOff(periods) = found else { panic!("{found:?}") };
    assert_eq!((periods.on, periods.off), (Distribution::Fixed(5e9), Distribution::Fixed(2e9)));
}

#[test]
fn faults_have_their_messages() {
    let cases = [
        (
            udp("kind = \"bulk\""),
            "flow[0].workload.kind: 'bulk' is a TCP workload, but the flow's transport is UDP\n  hint: write 'workload = { kind = \"cbr\", rate = \"2 Mbps\", packet = \"1500 B\" }'",
        ),
        (
            tcp("kind = \"cbr\", rate = \"2 Mbps\""),
            "flow[0].workload.kind: 'cbr' is a UDP workload, but the flow's transport is TCP\n  hint: write 'transport = \"udp\"' and no algorithm",
        ),
        (
            udp("kind = \"cbr\", rate = \"2 Mbps\", packet = \"28 B\""),
            "flow[0].workload.packet: a packet has 28 bytes of headers, at least one byte of payload, and at most 65535 bytes\n  hint: write \"1500 B\"",
        ),
        (
            tcp("kind = \"bulk\", per_second = 3"),
            "flow[0].workload.per_second: 'bulk' has no such field\n  hint: fields here: kind, bytes",
        ),
        (
            tcp("kind = \"on-off\", off = \"2 s\", on = { kind = \"pareto\", shape = 0.9, mean = \"1 s\" }"),
            "flow[0].workload.on.shape: a Pareto tail of index 1 or less has no mean\n  hint: set 'min', or a shape above 1",
        ),
        (
            tcp("kind = \"arrivals\", per_second = 3, size = { kind = \"pareto\", shape = 1.2, min = \"2 kB\", max = \"1 kB\" }"),
            "flow[0].workload.size.max: is not above 'min'",
        ),
        (
            tcp("kind = \"arrivals\", size = \"2 kB\""),
            "flow[0].workload.per_second: is missing\n  hint: write 'per_second = 20.0', or 'load = 0.5' for a share of the slowest line",
        ),
        (
            tcp("kind = \"arrivals\", size = \"2 kB\", per_second = 0"),
            "flow[0].workload.per_second: expected a number above 0 and up to 1000000000, got 0",
        ),
        (
            tcp("kind = \"arrivals\", load = 0.5, size = { kind = \"pareto\", shape = 0.8, min = \"1 kB\" }"),
            "flow[0].workload.load: a load requires sizes with a finite mean\n  hint: set 'max', or use 'per_second'",
        ),
        (
            tcp("kind = \"arrivals\", per_second = 3, size = { kind = \"cdf\", points = [[\"1 kB\", 0.5], [\"2 kB\", 0.9]] }"),
            "flow[0].workload.size.points: the last probability is 0.9, not 1\n  hint: the largest value has P(X ≤ value) = 1",
        ),
        (
            tcp("kind = \"arrivals\", per_second = 3, size = { kind = \"cdf\", points = [[\"2 kB\", 0.5], [\"1 kB\", 1.0]] }"),
            "flow[0].workload.size.points[1]: 1000 is not above the previous value, 2000\n  hint: values ascend",
        ),
        (
            tcp("kind = \"mqtt\", period = \"1 s\", qos = 3"),
            "flow[0].workload.qos: expected an integer from 0 to 2, got 3",
        ),
        (
            tcp("kind = \"mqtt\", period = \"1 s\", jitter = \"2 s\""),
            "flow[0].workload.jitter: is longer than the period\n  hint: messages are sent in order",
        ),
        (
            tcp("kind = \"request-response\", request = \"0 B\", response = \"1 kB\""),
            "flow[0].workload.request: is zero\n  hint: write \"20 kB\"",
        ),
        (
            tcp("kind = \"request-response\", request = { kind = \"log-normal\", mean = \"1 kB\" }, response = \"1 kB\""),
            "flow[0].workload.request.cv: is missing\n  hint: write 'cv = 2.0' (standard deviation over mean), or 'median' and 'sigma'",
        ),
    ];
    for (workload, expected) in cases {
        assert_eq!(workload.expect_err("a fault"), expected);
    }
    let both = read("transport = \"udp\"\nalgorithm = \"cubic\"\nstack = { min_rto = \"1 s\" }\nworkload = { kind = \"cbr\", rate = \"1 Mbps\" }");
    assert_eq!(
        both.expect_err("a fault"),
        "flow[0].algorithm: a flow over UDP has no congestion control\n  hint: remove it, or write 'transport = \"tcp\"'\n\
         flow[0].stack: a flow over UDP has no congestion control\n  hint: remove it, or write 'transport = \"tcp\"'"
    );
    let nothing = read("transport = \"udp\"").expect_err("a fault");
    assert!(nothing.starts_with("flow[0].workload: is missing"), "{nothing}");
}

/// A file with two columns is replaced by points; a message contains the number of a malformed line.
#[test]
fn a_distribution_is_read_from_a_file() {
    let folder = std::env::temp_dir();
    let name = format!("cwndlab-cdf-{}.csv", std::process::id());
    let path = folder.join(&name);
    let from = |text: &str| {
        std::fs::write(&path, text).unwrap();
        tcp(&format!("kind = \"arrivals\", per_second = 3, size = {{ kind = \"cdf\", file = \"{name}\" }}"))
    };
    let found = from("size,probability\n# web search\n1000,0.25\n5000 0.5\n\n20000\t1.0\n").unwrap();
    let Workload::Arrivals(arrivals) = found else { panic!("{found:?}") };
    let Distribution::Table(points) = arrivals.size else { panic!("{arrivals:?}") };
    assert_eq!(points[..], [(1000.0, 0.25), (5000.0, 0.5), (20_000.0, 1.0)]);
    let line = |text: &str| from(text).expect_err("a fault").replace(&path.display().to_string(), "FILE");
    assert_eq!(
        line("1000,0.5\n900,1\n"),
        "flow[0].workload.size.file: FILE:2: 900 is not above the previous value, 1000\n  hint: values ascend"
    );
    assert_eq!(
        line("size,p\n1000,0.5\n2000,0.4\n"),
        "flow[0].workload.size.file: FILE:3: the probability falls from 0.5 to 0.4\n  hint: probabilities are cumulative: P(X ≤ value)"
    );
    assert_eq!(
        line("1000,0.5\n2000,many\n"),
        "flow[0].workload.size.file: FILE:2: expected two numbers\n  hint: two columns: size in bytes, probability"
    );
    assert_eq!(
        line(""),
        "flow[0].workload.size.file: FILE:1: there are no points\n  hint: two columns: value, probability"
    );
    std::fs::remove_file(&path).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Reading any file of a distribution gives points or a message with a line number.
    #[test]
    fn any_file_is_read_or_rejected(text in "[0-9a-z.,# \n-]{0,80}") {
        let path = std::env::temp_dir().join(format!("cwndlab-any-{}.csv", std::process::id()));
        std::fs::write(&path, &text).unwrap();
        let found = tcp(&format!("kind = \"arrivals\", per_second = 3, size = {{ kind = \"cdf\", file = {:?} }}", path.display().to_string()));
        if let Err(message) = found {
            prop_assert!(message.contains(".csv:"), "{message}");
        }
    }
}
