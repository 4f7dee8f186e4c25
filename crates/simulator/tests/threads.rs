//! A run on several threads has the records of a run on one. `look_ahead.rs` compares random scenarios.

use std::sync::atomic::AtomicBool;

use cwndlab_simulator::{run, run_parallel, schedule};

use hashes::{plan, record_hash};

mod hashes;

/// The hashes of a run on one thread and on several, and the numbers of threads that the latter had.
fn compare(text: &str) -> (Vec<String>, Vec<usize>) {
    let plan = plan(text);
    let cancel = AtomicBool::new(false);
    let one = run(&plan, 1, &cancel, None).expect("it is not cancelled");
    // Findings are not part of the hash: the counters of each link agree with its wire.
    assert!(one.findings.iter().all(|finding| finding.code != "counters"), "{text}");
    let mut hashes = vec![record_hash(&plan, &one)];
    let used = [1, 2, 3, 5].map(|threads| {
        let (records, cost) = run_parallel(&plan, 1, threads, &cancel, None).expect("it is not cancelled");
        assert_eq!(records.findings, one.findings, "{text}");
        hashes.push(record_hash(&plan, &records));
        cost.threads
    });
    (hashes, used.to_vec())
}

fn dumbbell(flows: &str) -> String {
    format!(
        "schema_version = 1\nduration = \"3 s\"\nsample_interval = \"10 ms\"\n[dumbbell]\n\
         bottleneck = {{ rate = \"20 Mbps\", delay = \"2 ms\", queue = {{ capacity = \"40 packets\" }} }}\n{flows}"
    )
}

/// More flows than threads, losses, marks, different starts, timers without packets, and wires that lose.
#[test]
fn records_do_not_depend_on_the_number_of_threads() {
    for rest in ["", "perturb = true\n"] {
        let flows = "[[flow]]\nalgorithm = \"cubic/rack\"\nrtt = \"20 ms\"\ncount = 3\nstart_step = \"170 ms\"\n\
                     [[flow]]\nalgorithm = \"bbr3\"\nrtt = \"31 ms\"\nstart = \"250 ms\"\nstop = \"1300 ms\"\n\
                     [[flow]]\nalgorithm = \"reno/newreno\"\nrtt = \"80 ms\"\ndirection = \"reverse\"\ncount = 2\n";
        for queue in
            ["capacity = \"40 packets\"", "capacity = \"40 packets\", kind = \"red\"", "capacity = \"3 packets\""]
        {
            let text = format!("{rest}{}", dumbbell(flows).replace("capacity = \"40 packets\"", queue));
            let (hashes, used) = compare(&text);
            assert!(hashes.iter().all(|one| *one == hashes[0]), "{text}");
            assert_eq!(used, [1, 2, 3, 5], "{text}");
        }
    }
}

/// The same with a thousand flows, whose packets are sorted by time and by connection, on one thread too; samples in each
/// window. The shared queue drops, marks, or decides later; wires are equal, so that packets arrive at the same time, or
/// perturbed; senders send at once, or so slowly that packets arrive in a later year of the calendar.
#[test]
fn records_of_many_flows_do_not_depend_on_the_number_of_threads() {
    let flows = "[[flow]]\nalgorithm = \"cubic/rack\"\nrtt = \"24 ms\"\ncount = 1000\nstart_step = \"100 us\"\n\
                 [[flow]]\nalgorithm = \"bbr1\"\nrtt = \"9 ms\"\ncount = 100\ndirection = \"reverse\"\n";
    let text = dumbbell(flows).replace("20 Mbps", "600 Mbps").replace("40 packets", "400 packets");
    let text = text.replace("3 s", "300 ms").replace("10 ms", "3 ms");
    for (old, new) in [
        ("", ""),
        ("duration", "perturb = true\nduration"),
        ("[dumbbell]\n", "[dumbbell]\naccess = { rate = \"100 Mbps\" }\n"),
        ("[dumbbell]\n", "[dumbbell]\naccess = { rate = \"300 kbps\" }\n"),
        ("\"400 packets\"", "\"400 packets\", kind = \"fq-codel\""),
        ("delay = \"2 ms\"", "delay = \"1 ms\", loss = { kind = \"bernoulli\", p = 0.01 }"),
    ] {
        let text = if old.is_empty() { text.clone() } else { text.replacen(old, new, 1) };
        let (hashes, used) = compare(&text);
        assert!(hashes.iter().all(|one| *one == hashes[0]), "{new}");
        assert_eq!(used, [1, 2, 3, 5], "{new}");
        let (by_events, _) = cwndlab_simulator::engine::run_by_events(&plan(&text), 1);
        assert_eq!(record_hash(&plan(&text), &by_events), hashes[0], "{new}");
    }
}

/// Plans that cannot be divided: packet records, and an application that reacts to its data.
#[test]
fn what_cannot_be_divided_has_one_thread() {
    let flow = "[[flow]]\nalgorithm = \"cubic\"\nrtt = \"20 ms\"\n";
    let reacting =
        format!("{flow}workload = {{ kind = \"request-response\", request = \"1 kB\", response = \"9 kB\" }}\n");
    for text in [format!("packets = true\n{}", dumbbell(flow)), dumbbell(&reacting)] {
        let (hashes, used) = compare(&text);
        assert!(hashes.iter().all(|one| *one == hashes[0]), "{text}");
        assert_eq!(used, [1; 4], "{text}");
        assert!(schedule(&plan(&text), 1, 3, &|| 0.0).expect("it is not cancelled").is_none());
    }
}

/// By a clock that counts its calls, each measured part takes one second: the first part of endpoints, then each window of
/// links together with the part before. Windows are 5 ms long: 10 ms from the shared link to an endpoint and back, of which
/// 2 ms are the shared link's.
#[test]
fn a_schedule_has_windows_as_long_as_their_longest_part() {
    let text = dumbbell("[[flow]]\nalgorithm = \"cubic\"\nrtt = \"20 ms\"\n");
    let calls = std::cell::Cell::new(0.0);
    let clock = || {
        calls.set(calls.get() + 1.0);
        calls.get()
    };
    let schedule = schedule(&plan(&text), 1, 2, &clock).expect("it is not cancelled").expect("it can be divided");
    assert!(schedule.links > 100.0);
    assert!((schedule.one_thread - 2.0 * schedule.links).abs() < 3.0, "{schedule:?}");
    assert!((schedule.several_threads - schedule.links).abs() < 3.0, "{schedule:?}");
}

/// A cancelled run ends, and its threads with it.
#[test]
fn a_cancelled_run_ends() {
    let text = dumbbell("[[flow]]\nalgorithm = \"cubic\"\nrtt = \"20 ms\"\n").replace("3 s", "100000 s");
    assert!(run_parallel(&plan(&text), 1, 3, &AtomicBool::new(true), None).is_err());
}
