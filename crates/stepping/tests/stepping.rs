//! Stepping does not change a run: without decisions its records are those of the simulator's `run`, and a policy that
//! decides per ACK as a built-in algorithm does gives the records of that algorithm.

use std::fmt::Write;
use std::sync::atomic::AtomicBool;

use cwndlab_control::{Algorithm, Catalogue, Driver, Path};
use cwndlab_records::hash::hash;
use cwndlab_records::rows::Records;
use cwndlab_records::table::{Header, Tables};
use cwndlab_scenario::plan::{Pacing, Plan};
use cwndlab_scenario::Scenario;
use cwndlab_stepping::{external, Action, Cause, Report, Simulation, State};
use cwndlab_units::{Bytes, Duration, Fault, Time};
use proptest::prelude::*;

fn catalogue() -> Catalogue {
    let mut catalogue = cwndlab_simulator::catalogue();
    catalogue.specs.push(&external::SPEC);
    catalogue
}

/// Place and message of a fault.
fn said(fault: &Fault) -> String {
    format!("{}: {}", fault.place, fault.what)
}

fn plan(text: &str) -> Plan {
    let scenario = Scenario::from_toml(text, None).unwrap_or_else(|faults| panic!("{}: {text}", faults[0]));
    scenario.plan(&catalogue()).unwrap_or_else(|faults| panic!("{}: {text}", faults[0])).0
}

/// The hash of records without the names of algorithms.
fn record_hash(plan: &Plan, records: &Records) -> String {
    let header = Header { duration: plan.duration, sample_interval: plan.sample_interval, ..Header::default() };
    let mut unnamed = records.clone();
    for row in &mut unnamed.flows {
        row.algorithm.clear();
    }
    hash(&Tables::new(header, unnamed))
}

fn run_hash(plan: &Plan) -> String {
    let records = cwndlab_simulator::run(plan, 1, &AtomicBool::new(false), None).expect("it is not cancelled");
    record_hash(plan, &records)
}

fn never() -> bool {
    false
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn dumbbell(flows: &[String], rate_mbps: u32, capacity: u32, link: &str, interval: &str) -> String {
    let mut text = format!(
        "schema_version = 1\nduration = \"2 s\"\nsample_interval = \"{interval}\"\n[dumbbell]\n\
         bottleneck = {{ rate = \"{rate_mbps} Mbps\", delay = \"2 ms\", \
         queue = {{ capacity = \"{capacity} packets\" }}{link} }}\naccess = {{ rate = \"100 Mbps\" }}\n"
    );
    for one in flows {
        let _ = write!(text, "{one}");
    }
    text
}

fn flow(algorithm: &str, rtt_ms: u32, rest: &str) -> String {
    format!("[[flow]]\nalgorithm = \"{algorithm}\"\nrtt = \"{rtt_ms} ms\"\n{rest}\n")
}

/// A built-in algorithm that decides for an `external` flow from the reports of its transport.
struct Copy(Driver);

impl Copy {
    fn new(algorithm: &Algorithm, plan: &Plan) -> Self {
        let stack = &plan.flows[0.into()].stack;
        let path = Path {
            mss: stack.mss,
            initial_cwnd: stack.mss * u64::from(stack.initial_window),
            initial_ssthresh: None,
            paced: stack.pacing == Pacing::Always,
            seed: 0,
            classic_ecn: false,
            oracle_buffer: None,
            saved: None,
        };
        Self(Driver::of(algorithm, &path))
    }

    fn decide(&mut self, report: &Report) -> Action {
        let event = self.0.deliver(report.observed.as_deref().expect("every report is a decision"));
        let control = &self.0.control;
        let mss = report.mss.0 as f64;
        let bits = 8.0 * mss;
        Action {
            cwnd: Some(control.cwnd().0 as f64 / mss),
            pacing: Some(control.pacing_rate().map(|rate| rate.0 as f64 / bits)),
            ssthresh: Some(control.state(None).ssthresh.bytes().map(|bytes| bytes.0 as f64 / mss)),
            event,
        }
    }
}

/// The records of flow 0 decided by a copy of `algorithm`, and those of the algorithm itself.
fn copied(algorithm: &str, recovery: &str, rest: &str, link: &str) -> (String, String) {
    let text = |name: &str| {
        let flows = [flow(&format!("{name}/{recovery}"), 30, rest), flow("cubic", 20, "start = \"400 ms\"")];
        dumbbell(&flows, 12, 20, link, "7 ms")
    };
    let decided = plan(&text("external(every=ack, recovery=transport)"));
    let built_in = plan(&text(algorithm));
    let mut copy = Copy::new(&catalogue().parse(algorithm).expect("an algorithm"), &built_in);
    let mut simulation = Simulation::new(decided.clone(), 1).expect("it is valid");
    while let Some(decision) = simulation.next_decision(&mut never).expect("it runs") {
        let flow = decision.flow;
        let action = copy.decide(&decision.report);
        simulation.set(flow, action).expect("it is external");
    }
    let records = simulation.records(&mut never).expect("it is complete");
    assert!(records.flows[0].recoveries > 0, "losses are part of the comparison");
    (record_hash(&decided, records), run_hash(&built_in))
}

/// The decision takes effect where that of a built-in algorithm does, losses, timeouts and undos included.
#[test]
fn a_policy_that_copies_an_algorithm_per_ack_gives_its_records() {
    for algorithm in ["reno", "cubic", "cubic+hystart-pp", "htcp", "vegas"] {
        for recovery in ["rack", "sack", "newreno"] {
            for rest in [
                "",
                "stack = { pacing = \"always\" }",
                "workload = { kind = \"on-off\", on = \"300 ms\", off = \"100 ms\" }",
            ] {
                let (copy, built_in) =
                    copied(algorithm, recovery, rest, ", loss = [{ kind = \"bernoulli\", p = 0.002 }]");
                assert_eq!(copy, built_in, "{algorithm}/{recovery} {rest}");
            }
        }
    }
}

/// Reordering causes spurious reductions, which are undone.
#[test]
fn a_copy_undoes_spurious_reductions() {
    for algorithm in ["reno", "cubic"] {
        let (copy, built_in) = copied(algorithm, "sack", "", ", jitter = { spread = \"8 ms\", reorder = true }");
        assert_eq!(copy, built_in, "{algorithm}");
    }
}

fn any_flow() -> impl Strategy<Value = String> {
    let algorithm = prop::sample::select(vec![
        "external",
        "external(every=interval, interval_ms=7)",
        "external(every=ack, initial=30)",
        "external(recovery=transport)/sack",
        "cubic/rack",
        "reno/newreno",
        "bbr3",
        "copa",
    ]);
    let rest = prop::sample::select(vec![
        "",
        "start = \"300 ms\"\nstop = \"1200 ms\"",
        "direction = \"reverse\"",
        "workload = { kind = \"transfers\", bytes = \"50 kB\", gap = \"20 ms\" }",
        "stack = { pacing = \"always\" }",
    ]);
    (algorithm, prop::sample::select(vec![8u32, 12, 20, 31, 100]), rest)
        .prop_map(|(algorithm, rtt, rest)| flow(algorithm, rtt, rest))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// Stops at any time and decisions that change nothing, in any order, leave the records as they are.
    #[test]
    fn without_decisions_stepping_does_not_change_a_run(
        flows in prop::collection::vec(any_flow(), 1..4),
        rate in prop::sample::select(vec![5u32, 12, 48]),
        capacity in 2u32..60,
        interval in prop::sample::select(vec!["1 ms", "7 ms", "100 ms", "0 s"]),
        steps in prop::collection::vec(prop_oneof![3 => (0u64..2100).prop_map(Some), 1 => Just(None)], 0..40),
        reads in any::<bool>(),
    ) {
        let plan = plan(&dumbbell(&flows, rate, capacity, "", interval));
        let mut simulation = Simulation::new(plan.clone(), 1).expect("it is valid");
        let mut times: Vec<_> = steps;
        times.sort_by_key(|step| step.unwrap_or(700));
        for step in times {
            match step {
                Some(ms) => simulation.run_until(at(ms), &mut never).expect("it runs"),
                None => { simulation.next_decision(&mut never).expect("it runs"); }
            }
            if reads {
                for flow in 0..plan.flows.len() {
                    let _ = simulation.state(flow);
                }
            }
        }
        let records = simulation.records(&mut never).expect("it is complete");
        prop_assert_eq!(record_hash(&plan, records), run_hash(&plan));
    }
}

/// By hand: 12 Mbit/s are 1000 packets of 1500 bytes per second; a window of 20 segments over 20 ms needs 1000 per
/// second, and each of 2 s less the handshake delivers that many.
#[test]
fn the_state_at_a_stop_is_that_of_its_time() {
    let text = dumbbell(&[flow("external(initial=40)", 20, "")], 12, 100, "", "100 ms");
    let mut simulation = Simulation::new(plan(&text), 1).expect("it is valid");
    let mut last = 0;
    for ms in (100..2000).step_by(100) {
        simulation.run_until(at(ms), &mut never).expect("it runs");
        let State::Full(state) = simulation.state(0).expect("it has started") else { panic!("it is at a stop") };
        let delivered = state.delivered.0 / 1448;
        if last > 0 {
            assert!((99..=101).contains(&(delivered - last)), "{ms} ms: {}", delivered - last);
        }
        last = delivered;
        assert_eq!(state.sender.cwnd, Bytes(40 * 1448));
        // 20 of the 40 segments fill the path, the others wait, but for those that the receiver has not acknowledged.
        let (_, queue) = state.bottleneck.expect("the bottleneck is sampled");
        assert!((17..=21).contains(&queue.queue_packets), "{ms} ms: {}", queue.queue_packets);
    }
    assert_eq!(simulation.now(), at(1900));
}

/// A window that is set at a stop applies at the next ACK, one that is set at a decision immediately.
#[test]
fn a_window_takes_effect_at_the_next_event() {
    let text = dumbbell(&[flow("external", 20, "")], 100, 400, "", "100 ms");
    let mut simulation = Simulation::new(plan(&text), 1).expect("it is valid");
    simulation.run_until(at(500), &mut never).expect("it runs");
    simulation.set(0, Action { cwnd: Some(33.0), ..Action::default() }).expect("it is external");
    simulation.run_until(at(600), &mut never).expect("it runs");
    let State::Full(state) = simulation.state(0).expect("it has started") else { panic!("it is at a stop") };
    assert_eq!((state.sender.cwnd, state.sender.in_flight), (Bytes(33 * 1448), Bytes(33 * 1448)));
    let decision = simulation.next_decision(&mut never).expect("it runs").expect("one is due");
    assert_eq!(decision.report.cwnd.0, 33 * 1448);
    simulation.set(0, Action { cwnd: Some(44.0), ..Action::default() }).expect("it is external");
    let after = simulation.next_decision(&mut never).expect("it runs").expect("one is due");
    assert_eq!((after.report.cwnd.0, after.report.interval.sent.0 > 33 * 1448), (44 * 1448, true));
}

/// The transport reports the timeout of a path that is cut, and the policy decides on it.
#[test]
fn a_timeout_is_a_decision() {
    let link = ", schedule = [{ at = \"1 s\", loss = 1.0 }]";
    let text = dumbbell(&[flow("external", 20, "")], 12, 100, link, "100 ms");
    let mut simulation = Simulation::new(plan(&text), 1).expect("it is valid");
    let mut timeouts = 0;
    while let Some(decision) = simulation.next_decision(&mut never).expect("it runs") {
        timeouts += usize::from(decision.report.cause == Cause::Timeout);
    }
    // RFC 6298: at 1.2 s (the minimum of 200 ms of Linux), and after twice the time each.
    assert_eq!(timeouts, 2);
}

#[test]
fn errors_name_the_flow_and_the_remedy() {
    let flows = [flow("external", 20, ""), flow("cubic", 20, "start = \"1 s\"")];
    let mut simulation = Simulation::new(plan(&dumbbell(&flows, 12, 100, "", "100 ms")), 1).expect("it is valid");
    let error = simulation.state(2).expect_err("there are two");
    assert_eq!((said(&error), error.hint), ("flow[2]: there is no such flow".into(), "the scenario has 2".into()));
    let error = simulation.set(1, Action::default()).expect_err("it is cubic");
    assert_eq!(
        (said(&error), error.hint),
        ("flow[1].algorithm: it decides itself".into(), "only the algorithm 'external' is decided from outside".into())
    );
    simulation.run_until(at(500), &mut never).expect("it runs");
    let error = simulation.state(1).expect_err("it starts later");
    assert_eq!(said(&error), "flow[1]: it has not started at 0.5 s");
    simulation.next_decision(&mut never).expect("it runs");
    let error = simulation.state(1).expect_err("flow 0 decides");
    assert_eq!(said(&error), "flow[1]: its state is not known at a decision of flow 0");
    simulation.records(&mut never).expect("it is complete");
    let error = simulation.state(0).expect_err("it is over");
    assert_eq!((said(&error), error.hint), ("flow[0]: the run is over".into(), "read its records".into()));
    let pages = flow(
        "external",
        20,
        "workload = { kind = \"request-response\", request = \"1 kB\", response = \"9 kB\", count = 3 }",
    );
    let error =
        Simulation::new(plan(&dumbbell(&[pages], 12, 100, "", "100 ms")), 1).expect_err("it has two connections");
    assert_eq!(said(&error), "flow[0].workload: the workload has several connections, and 'external' decides for one");
}

#[test]
fn an_interrupted_run_continues() {
    let text = dumbbell(&[flow("external(initial=100)", 20, "")], 1000, 400, "", "0 s");
    let plan = plan(&text);
    let mut simulation = Simulation::new(plan.clone(), 1).expect("it is valid");
    let error = simulation.records(&mut || true).expect_err("it is interrupted");
    assert_eq!(said(&error), "simulation: interrupted");
    let records = simulation.records(&mut never).expect("it is complete");
    assert_eq!(record_hash(&plan, records), run_hash(&plan));
}

/// A simulation is moved to another thread between two steps.
#[test]
fn a_suspended_run_may_change_threads() {
    let plan = plan(&dumbbell(&[flow("external", 20, ""), flow("bbr3", 20, "")], 12, 50, "", "7 ms"));
    let mut simulation = Simulation::new(plan.clone(), 1).expect("it is valid");
    for _ in 0..10 {
        simulation = std::thread::spawn(move || {
            simulation.next_decision(&mut never).expect("it runs");
            simulation
        })
        .join()
        .expect("no panic");
    }
    assert_eq!(record_hash(&plan, simulation.records(&mut never).expect("it is complete")), run_hash(&plan));
}
