//! Generation of random scenarios.

use cwndlab_network::random::{Purpose, Stream};
use cwndlab_simulator::catalogue;
use cwndlab_units::maths;
use serde_json::{json, Map, Value};

use super::PACKETS;

const MS: f64 = 1e6;
const S: f64 = 1e9;

struct Generator(Stream);

fn ns(time: f64) -> String {
    format!("{} ns", time as u64)
}

impl Generator {
    fn bernoulli(&mut self, probability: f64) -> bool {
        self.0.unit() < probability
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    /// A log-uniform random number.
    fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        low * maths::pow(high / low, self.0.unit())
    }

    fn choose<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }

    fn time(&mut self, low: f64, high: f64) -> String {
        ns(self.log_uniform(low, high))
    }

    /// A delay of 0 to 10 s, in ns.
    fn delay(&mut self) -> f64 {
        match self.below(8) {
            0 => 0.0,
            1 => self.log_uniform(1.0, 10.0 * S),
            _ => self.log_uniform(0.01 * MS, 500.0 * MS),
        }
    }

    fn rate(&mut self) -> f64 {
        if self.bernoulli(0.3) {
            self.log_uniform(1e3, 1e12)
        } else {
            self.log_uniform(1e5, 1e10)
        }
    }

    fn capacity(&mut self) -> String {
        match self.below(6) {
            0 => "1 packets".to_owned(),
            1 => "unlimited".to_owned(),
            2 => format!("{} packets", self.log_uniform(1.0, 1e5) as u64),
            3 => format!("{} B", self.log_uniform(1500.0, 1e9) as u64),
            4 => format!("{:.3} bdp(100 ms)", self.log_uniform(0.01, 100.0)),
            _ => self.time(MS, S),
        }
    }

    fn queue(&mut self) -> Value {
        let kind = self
            .choose(&["droptail", "red", "ared", "codel", "pie", "dualpi2", "fq", "fq-codel", "fq-pie", "step-ecn"]);
        let mut queue = json!({ "kind": kind });
        if self.bernoulli(0.8) {
            queue["capacity"] = json!(self.capacity());
        }
        if kind == "step-ecn" {
            queue["mark_above"] = json!(self.below(100));
        }
        if kind == "droptail" && self.bernoulli(0.2) {
            queue["counts_in_service"] = json!(true);
        }
        queue
    }

    fn loss(&mut self) -> Value {
        match self.below(3) {
            0 => json!({ "kind": "bernoulli", "p": self.log_uniform(1e-4, 1.0) }),
            1 => {
                json!({ "kind": "gilbert-elliott", "p": self.log_uniform(1e-3, 1.0), "r": self.log_uniform(1e-3, 1.0) })
            }
            _ => json!({ "kind": "list", "indices": [0, 1, 5, 40, 41], "counts": self.choose(&["all", "payload"]) }),
        }
    }

    /// A link with this rate and delay.
    fn link(&mut self, rate: f64, delay: f64) -> Value {
        let text = format!("{} bps", rate as u64);
        let mut link = json!({ "delay": format!("{} ns", delay as u64), "queue": self.queue() });
        let constant = self.below(10);
        match constant {
            0 => link["trace"] = json!(self.choose(&["lte-driving", "lte-stationary", "3g", "satellite"])),
            1 => {
                link["token_bucket"] =
                    json!({ "rate": text, "burst": format!("{} B", self.log_uniform(1500.0, 1e7) as u64) });
            }
            _ => link["rate"] = json!(text),
        }
        if constant > 1 && self.bernoulli(0.2) {
            // An outage, sometimes permanent.
            let at = self.log_uniform(MS, 2.0 * S) as u64;
            let mut steps = vec![json!({ "at": format!("{at} ns"), "rate": "0 bps" })];
            if self.bernoulli(0.7) {
                let again = at + self.log_uniform(MS, 2.0 * S) as u64;
                steps.push(json!({ "at": format!("{again} ns"), "rate": text }));
                if self.bernoulli(0.5) {
                    link["repeat"] = json!(format!("{} ns", again + self.log_uniform(MS, S) as u64));
                }
            }
            link["schedule"] = json!(steps);
        }
        if self.bernoulli(0.25) {
            link["loss"] = json!([self.loss()]);
        }
        if self.bernoulli(0.15) {
            link["jitter"] = json!({ "spread": self.time(1e3, S), "reorder": self.bernoulli(0.5) });
        }
        if self.bernoulli(0.1) {
            link["duplicate"] = json!(self.log_uniform(1e-3, 1.0));
        }
        if self.bernoulli(0.1) {
            link["harq"] = json!({ "probability": self.log_uniform(1e-2, 1.0) });
        }
        link
    }

    fn size(&mut self) -> Value {
        match self.below(4) {
            0 => json!("1 B"),
            1 => json!({ "kind": "exponential", "mean": "20 kB" }),
            2 => json!({ "kind": "pareto", "shape": 1.2, "min": "100 B", "max": "1 MB" }),
            _ => json!(format!("{} B", self.log_uniform(1.0, 1e6) as u64)),
        }
    }

    /// A workload over TCP, and the events per second that it takes without a packet.
    fn tcp(&mut self, rate: f64) -> (Value, f64) {
        let mut events = 0.0;
        let workload = match self.below(11) {
            0 => json!({ "kind": "bulk", "bytes": format!("{} B", self.log_uniform(1.0, 1e9) as u64) }),
            1 => {
                let on = self.log_uniform(MS, S);
                let off = self.log_uniform(MS, S);
                events = S / (on + off);
                json!({ "kind": "on-off", "on": ns(on), "off": ns(off) })
            }
            2 => {
                json!({ "kind": "transfers", "bytes": format!("{} B", self.log_uniform(1.0, 1e6) as u64), "gap": self.time(MS, S),
                "new_connection": self.bernoulli(0.5) })
            }
            3 => {
                json!({ "kind": "arrivals", "load": self.log_uniform(0.01, 2.0), "size": self.size(), "count": 1 + self.below(500) })
            }
            4 => json!({ "kind": "arrivals", "per_second": (rate / 1e5).clamp(0.1, 1e4), "size": self.size(),
                "connections": 1 + self.below(1000), "count": 1 + self.below(500) }),
            5 => json!({ "kind": "request-response", "request": self.size(), "response": self.size(),
                "think": self.time(MS, S), "new_connection": self.bernoulli(0.5) }),
            6 => self.protocol(),
            7 => {
                let http = self.choose(&["2", "3"]);
                json!({ "kind": "page-loads", "main": self.size(), "object": self.size(), "parse": self.time(MS, S),
                    "think": self.time(MS, S), "new_connection": self.bernoulli(0.5), "http": http,
                    "tls": if http == "3" { "1.3" } else { self.choose(&["none", "1.3", "1.2"]) } })
            }
            8 => self.call(rate),
            _ => json!({ "kind": "bulk" }),
        };
        (workload, events)
    }

    /// Audio and video of one connection, together up to twice the rate of the line.
    fn call(&mut self, rate: f64) -> Value {
        let frame = (rate / 8.0 / 30.0 * self.log_uniform(0.01, 2.0)).clamp(1.0, 1e6) as u64;
        let mut video = json!({ "frame_rate": 30, "frame": format!("{frame} B"), "priority": self.below(5) });
        if self.bernoulli(0.5) {
            video["group"] = json!(1 + self.below(60));
            video["first_frame"] = json!(format!("{} B", frame * 10));
            video["stop_after"] = json!(self.time(MS, S));
        }
        json!({ "kind": "call", "streams": [{ "frame_rate": 50, "frame": "80 B", "priority": 2 }, video] })
    }

    fn coap(&mut self) -> (Value, f64) {
        let period = self.log_uniform(10.0 * MS, 10.0 * S);
        let (method, confirmable) = (self.choose(&["post", "get", "observe"]), self.bernoulli(0.7));
        let largest = if confirmable && method != "observe" { 1e4 } else { 1024.0 };
        let workload = json!({ "kind": "coap", "method": method, "confirmable": confirmable,
            "control": self.choose(&["rfc7252", "cocoa", "fasor"]),
            "payload": format!("{} B", self.log_uniform(1.0, largest) as u64), "period": ns(period),
            "block": self.choose(&["16 B", "256 B", "1024 B"]), "nstart": 1 + self.below(4),
            "dtls": self.choose(&["none", "1.3"]), "dtls_authentication": self.choose(&["certificates", "raw-keys", "psk-ecdhe", "psk"]),
            "processing": if self.bernoulli(0.3) { self.time(MS, S) } else { "0 s".into() } });
        (workload, S / period)
    }

    /// A workload of a messaging or a medical protocol.
    fn protocol(&mut self) -> Value {
        let period = self.time(10.0 * MS, 10.0 * S);
        let mut workload = match self.below(7) {
            0 => {
                json!({ "kind": "mqtt", "qos": self.below(3), "period": period, "burst": 1 + self.below(5), "nagle": self.bernoulli(0.3) })
            }
            1 => json!({ "kind": "xmpp", "period": period, "payload": self.size(), "ack_every": 1 + self.below(7),
                "response_timeout": self.time(10.0 * MS, 10.0 * S), "resume": self.bernoulli(0.7), "resume_within": self.time(MS, 10.0 * S),
                "login": self.choose(&["starttls", "direct", "sasl2"]), "keep_alive": self.time(S, 10.0 * S),
                "keep_alive_kind": self.choose(&["whitespace", "ping"]) }),
            2 => {
                json!({ "kind": "hl7", "period": period, "message": self.size(), "processing": self.time(MS, S) })
            }
            3 => json!({ "kind": "dicom", "period": period, "images": 1 + self.below(20), "image": self.size(),
                "window": 1 + self.below(4), "storage": self.time(MS, S), "nagle": self.bernoulli(0.3),
                "writes": self.choose(&["messages", "pdus", "headers"]),
                "archive_writes": self.choose(&["messages", "pdus", "headers"]) }),
            4 => json!({ "kind": "rest", "gap": period, "client": self.choose(&["receiver", "sender"]),
                "http": self.choose(&["2", "1.1", "3"]), "parallel": 1 + self.below(10), "request": self.size(), "response": self.size(),
                "processing": self.time(MS, S), "idle_timeout": self.time(MS, S) }),
            5 => json!({ "kind": "coap-tcp", "period": period, "method": self.choose(&["post", "get", "observe"]),
                "payload": self.size(), "max_message_size": self.choose(&["1152 B", "16 kB"]),
                "processing": self.time(1e3, S), "keep_alive": self.time(S, 10.0 * S) }),
            _ => json!({ "kind": "amqp", "settlement": self.choose(&["settled", "first", "second"]), "period": period,
                "payload": self.size(), "credit": 1 + self.below(100), "idle_timeout": self.time(2.0 * MS, 10.0 * S),
                "separate_writes": self.bernoulli(0.3) }),
        };
        if workload["method"] == "observe" && workload["payload"].is_string() {
            workload["payload"] = json!("1000 B"); // notifications do not come in blocks
        }
        workload["tls"] = json!(self.choose(&["none", "1.2", "1.3", "1.3-0rtt"]));
        if workload["http"] == "3" {
            workload["tls"] = json!(self.choose(&["1.3", "1.3-0rtt"]));
            if workload["tls"] == "1.3" && self.bernoulli(0.3) {
                workload["tls_chain"] = json!("9 kB");
            }
        } else if workload["http"] == "1.1" {
            workload["parallel"] = json!(1);
        } else if workload["http"] == "2" {
            workload["separate_writes"] = json!(self.bernoulli(0.3));
        }
        workload
    }

    fn udp(&mut self, rate: f64) -> (Value, f64) {
        let mut rate = (rate * self.log_uniform(0.01, 100.0)).clamp(1e3, 1e12);
        let packet = self.log_uniform(29.0, 9000.0) as u64;
        let kind = self.below(6);
        if kind == 3 {
            return self.coap();
        }
        if kind == 5 {
            let rate = rate.clamp(1e5, 1e8);
            let control = self.choose(&["nada", "scream2", "gcc", "none"]);
            let ecn = if control == "scream2" { self.choose(&["off", "classic", "l4s"]) } else { "off" };
            let workload = json!({ "kind": "adaptive-video", "control": control, "ecn": ecn,
                "min_rate": format!("{} bps", (rate / 20.0) as u64), "max_rate": format!("{} bps", rate as u64),
                "frame_rate": 1.0 + self.below(60) as f64, "feedback": self.time(10.0 * MS, S) });
            return (workload, rate / 8.0 / 1200.0 + 200.0);
        }
        if kind == 4 {
            let size = |generator: &mut Self| format!("{} B", 1 + generator.below(1443));
            let think = self.log_uniform(10.0 * MS, S);
            let workload = json!({ "kind": "udp-request-response", "request": size(self), "response": size(self),
                "dtls": self.choose(&["none", "1.3", "1.2"]), "dtls_authentication": "certificates", "think": ns(think), "timeout": self.time(MS, S), "processing": self.time(1e3, S) });
            return (workload, S / think);
        }
        if kind == 0 {
            // All packets of a frame, 25 of which are sent in a second, are sent at once.
            rate = rate.min(PACKETS / 10.0 * 25.0 * 8.0 * packet as f64);
        }
        let rate_text = format!("{} bps", rate as u64);
        let packet_text = format!("{packet} B");
        let mut packets = rate / 8.0 / packet as f64;
        let workload = match kind {
            0 => {
                packets = packets.max(25.0); // a frame has a packet at least
                json!({ "kind": "vbr", "rate": rate_text, "packet": packet_text })
            }
            1 => {
                let on = self.log_uniform(MS, S);
                let off = self.log_uniform(MS, S);
                packets = packets.max(S / (on + off)); // a period is an event at least
                json!({ "kind": "on-off", "rate": rate_text, "packet": packet_text,
                    "on": { "kind": "exponential", "mean": ns(on) }, "off": ns(off) })
            }
            _ => json!({ "kind": "cbr", "rate": rate_text, "packet": packet_text }),
        };
        (workload, packets)
    }

    fn stack(&mut self) -> Map<String, Value> {
        let mut stack = Map::new();
        if self.bernoulli(0.1) {
            stack.insert("mss".to_owned(), json!(format!("{} B", self.log_uniform(64.0, 60_000.0) as u64)));
        }
        if self.bernoulli(0.1) {
            stack.insert("receive_window".to_owned(), json!(format!("{} B", self.log_uniform(1e4, 1e10) as u64)));
        }
        if self.bernoulli(0.1) {
            stack.insert("initial_window".to_owned(), json!(1 + self.below(100)));
        }
        if self.bernoulli(0.1) {
            stack.insert("ecn".to_owned(), json!(self.choose(&["off", "classic", "accurate"])));
        }
        if self.bernoulli(0.1) {
            stack.insert("pacing".to_owned(), json!(self.choose(&["algorithm", "always", "off"])));
        }
        if self.bernoulli(0.05) {
            stack.insert("sack".to_owned(), json!(false));
        }
        if self.bernoulli(0.3) {
            stack.insert("piggyback".to_owned(), json!(true));
        }
        stack
    }
}

/// Network shapes: two wireless ones, then a parking lot, a graph and dumbbells.
const WIRELESS: u64 = 2;
const PARKING_LOT: u64 = 2;
const GRAPH: u64 = 3;

/// Adds a network; returns the rate of its fastest line and the delay between its routers, ns.
fn add_network(generator: &mut Generator, scenario: &mut Value, shape: u64, rate: f64) -> (f64, f64) {
    let mut fastest = rate;
    let mut delay = generator.delay();
    match shape {
        0 | 1 => {
            scenario["wlan"] =
                json!({ "standard": generator.choose(&["802.11g", "802.11n"]), "queue": generator.queue() });
            if generator.bernoulli(0.5) {
                scenario["wlan"]["wire"] = json!({ "rate": "1 Gbps" });
            }
            (fastest, delay) = (1e8, 0.0);
        }
        PARKING_LOT => {
            let hops = 1 + generator.below(6);
            delay /= hops as f64;
            let links: Vec<Value> = (0..hops)
                .map(|_| {
                    let rate = rate * generator.log_uniform(0.1, 1.0);
                    generator.link(rate.max(1e3), delay)
                })
                .collect();
            scenario["parking_lot"] = json!({ "hops": links });
            delay *= hops as f64;
        }
        GRAPH => {
            let mut links = Vec::new();
            for (from, to) in [("a", "b"), ("b", "c"), ("c", "d")] {
                let mut link = generator.link(rate, delay / 3.0);
                (link["from"], link["to"]) = (json!(from), json!(to));
                links.push(link);
            }
            scenario["link"] = json!(links);
        }
        _ => {
            scenario["dumbbell"] = json!({ "bottleneck": generator.link(rate, delay) });
            if generator.bernoulli(0.3) {
                let access = rate * generator.log_uniform(0.1, 10.0);
                fastest = fastest.max(access);
                scenario["dumbbell"]["access"] = json!({ "rate": format!("{} bps", access.max(1e3) as u64) });
                if generator.bernoulli(0.5) {
                    scenario["dumbbell"]["access"]["queue"] = json!({ "capacity": generator.capacity() });
                }
            }
        }
    }
    if scenario.to_string().contains("\"trace\":") {
        fastest = fastest.max(5e7); // the rate of such a line is that of its trace
    }
    (fastest, delay)
}

/// The flows of a case.
struct Flows {
    all: u64,
    /// Packets per second of all UDP flows.
    offered: f64,
    /// The shortest and the longest RTT, ns.
    rtts: (f64, f64),
}

/// A publisher and a subscriber of the broker at "c".
fn broker(generator: &mut Generator) -> [Value; 2] {
    let qos = generator.below(3);
    let payload = format!("{} B", generator.log_uniform(1.0, 1e5) as u64);
    let mut publisher =
        json!({ "kind": "mqtt", "qos": qos, "payload": payload, "period": generator.time(10.0 * MS, S) });
    if generator.bernoulli(0.5) {
        publisher["response_timeout"] = json!(generator.time(10.0 * MS, S));
        publisher["clean_session"] = json!(generator.bernoulli(0.3));
    }
    let subscriber = json!({ "kind": "mqtt-subscription", "sources": ["publisher"], "qos": generator.below(3),
        "receive_maximum": 1 + generator.below(20), "max_queued": 1 + generator.below(100),
        "processing": generator.time(1e3, 100.0 * MS) });
    let flow = |name: &str, (from, to): (&str, &str), workload: Value| {
        json!({ "name": name, "from": from, "to": to, "algorithm": "cubic", "workload": workload,
            "service": { "deadline": "1 s" } })
    };
    [flow("publisher", ("a", "c"), publisher), flow("subscriber", ("c", "d"), subscriber)]
}

fn add_flows(generator: &mut Generator, scenario: &mut Value, shape: u64, rate: f64, delay: f64) -> Flows {
    let algorithms = cwndlab_conformance::algorithm_texts(&catalogue());
    let groups = 1 + generator.below(4);
    let max = match generator.below(20) {
        0 => 2000,
        1..=3 => 50,
        _ => 3,
    };
    let mut flows = Vec::new();
    let mut all = 0;
    let mut offered = 0.0;
    let mut rtts = (f64::INFINITY, 0.0_f64);
    for _ in 0..groups {
        let count = 1 + generator.below(max / groups + 1);
        all += count;
        let rtt = 2.0 * delay + generator.delay() + 4.0;
        // In the graph a flow may cross only one of three links.
        let shortest = if shape == GRAPH { delay / 1.5 } else { rtt };
        rtts = (rtts.0.min(shortest), rtts.1.max(rtt));
        let mut flow = json!({});
        if shape == GRAPH {
            (flow["from"], flow["to"]) = (json!(generator.choose(&["a", "b"])), json!(generator.choose(&["c", "d"])));
        } else {
            flow["rtt"] = json!(format!("{} ns", rtt as u64));
            if generator.bernoulli(0.2) {
                flow["direction"] = json!(if shape < WIRELESS { "upload" } else { "reverse" });
            }
        }
        if count > 1 {
            flow["count"] = json!(count);
            if generator.bernoulli(0.5) {
                flow["start_step"] = json!(generator.time(1.0, 100.0 * MS));
            }
        }
        if generator.bernoulli(0.25) {
            let (workload, packets) = generator.udp(rate.min(1e9) / count as f64);
            flow["transport"] = json!("udp");
            flow["workload"] = workload;
            offered += packets * count as f64;
        } else {
            flow["algorithm"] = json!(generator.choose(&algorithms));
            let (workload, events) = generator.tcp(rate / count as f64);
            flow["workload"] = workload;
            offered += events * count as f64;
            flow["profile"] = json!(generator.choose(&["linux", "linux", "rfc", "ns2", "windows-10-20h1"]));
            let mut stack = generator.stack();
            if flow["workload"]["http"] == "3" {
                flow["algorithm"] = json!(generator.choose(&["cubic/rack", "reno/sack", "bbr3/rack", "reno/fack"]));
                stack.remove("sack");
                stack.remove("mss");
            }
            if !stack.is_empty() {
                flow["stack"] = Value::Object(stack);
            }
        }
        flows.push(flow);
    }
    if shape == GRAPH && generator.bernoulli(0.3) {
        flows.extend(broker(generator));
        all += 2;
    }
    scenario["flow"] = json!(flows);
    Flows { all, offered, rtts }
}

/// The scenario of this seed.
pub(super) fn scenario(seed: u64) -> Value {
    let generator = &mut Generator(Stream::new(seed, Purpose::Loss, 0));
    let rate = generator.rate();
    let shape = generator.below(10);
    let mut scenario = json!({ "schema_version": 1 });
    let (fastest, delay) = add_network(generator, &mut scenario, shape, rate);
    let Flows { all, offered, rtts } = add_flows(generator, &mut scenario, shape, rate, delay);
    // The duration of the packets, and at least some RTTs, in which windows double.
    let (rounds, max) = if all > 100 { (2.0, 5.0) } else { (5.0, 12.0) };
    let line = PACKETS / (fastest / 8.0 / 1500.0 + offered);
    let mut duration = (line * S).clamp(MS, 300.0 * S);
    if offered == 0.0 {
        duration = duration.max((rounds * rtts.1).min(max * rtts.0));
    }
    // Ten samples, the last one at the end of the run.
    let interval = (duration / 10.0) as u64;
    scenario["duration"] = json!(format!("{} ns", interval * 10));
    scenario["sample_interval"] = json!(format!("{interval} ns"));
    if generator.bernoulli(0.05) && all < 20 {
        scenario["packets"] = json!(true);
    }
    scenario
}
