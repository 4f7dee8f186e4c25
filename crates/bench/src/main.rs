//! Measures the simulator in a process without Python and Arrow.
//!
//! `cwndlab-bench run SCENARIO.toml [SEED]` prints one JSON line with the user time and the peak memory of the process.
//! `cwndlab-bench algorithms [NAME …]` prints one JSON line per algorithm with its time per ACK, for the event stream
//! of the conformance tests.
#![allow(clippy::print_stdout, reason = "the output is the purpose")]

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use cwndlab_scenario::Scenario;

/// User time of this process in seconds and its peak resident size in kB, as counted by the kernel.
fn usage() -> (f64, u64) {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let stat = read("/proc/self/stat");
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = after.split_whitespace().nth(11).and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let peak = read("/proc/self/status")
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok())
        .unwrap_or(0);
    // `schedstat` counts nanoseconds on the CPU; `stat` has ticks of 10 ms, but separates user from kernel time.
    let on_cpu: f64 =
        read("/proc/self/schedstat").split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    (if on_cpu > 0.0 { on_cpu * 1e-9 } else { ticks / 100.0 }, peak)
}

/// ACKs of the stream, and its repetitions. The fastest repetition is reported, because noise only adds time.
const TIMED: (usize, u32) = (65_536, 9);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match (arguments.first().map(String::as_str), arguments.get(1)) {
        (Some("algorithms"), _) => algorithms(&arguments[1..]),
        (Some("run"), Some(path)) => {
            let seed = arguments.get(2).and_then(|text| text.parse().ok()).unwrap_or(1);
            run(std::path::Path::new(path), seed)
        }
        _ => {
            eprintln!("usage: cwndlab-bench run SCENARIO.toml [SEED]\n       cwndlab-bench algorithms [NAME ...]");
            ExitCode::from(2)
        }
    }
}

fn algorithms(names: &[String]) -> ExitCode {
    let catalogue = cwndlab_simulator::catalogue();
    let names = if names.is_empty() { cwndlab_conformance::algorithm_texts(&catalogue) } else { names.to_vec() };
    for name in names {
        let algorithm = match catalogue.parse(&name) {
            Ok(algorithm) => algorithm,
            Err(fault) => {
                eprintln!("{}\n  hint: {}", fault.what, fault.hint);
                return ExitCode::from(2);
            }
        };
        let make = |path: &cwndlab_control::Path| algorithm.build(path);
        let cost = cwndlab_conformance::cost::ns_per_ack(&(&algorithm).into(), &make, TIMED.0, TIMED.1);
        let cost = cost.map_or("null".to_owned(), |ns| format!("{ns:.1}"));
        println!("{{\"algorithm\": \"{algorithm}\", \"ns_per_ack\": {cost}}}");
    }
    ExitCode::SUCCESS
}

fn run(path: &std::path::Path, seed: u64) -> ExitCode {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{}: cannot be read: {error}", path.display());
            return ExitCode::from(2);
        }
    };
    let planned =
        Scenario::from_toml(&text, path.parent()).and_then(|scenario| scenario.plan(&cwndlab_simulator::catalogue()));
    let plan = match planned {
        Ok((plan, _)) => plan,
        Err(faults) => {
            for fault in &faults {
                eprintln!("{fault}");
            }
            return ExitCode::from(2);
        }
    };
    let (start, _) = usage();
    let Ok((records, cost)) = cwndlab_simulator::run_counted(&plan, seed, &AtomicBool::new(false), None) else {
        return ExitCode::from(1);
    };
    let (cpu_s, peak_kb) = usage();
    println!(
        "{{\"packets\": {}, \"cpu_s\": {:.6}, \"engine_s\": {:.6}, \"peak_rss_mb\": {:.3}, \"events\": {}, \"state_bytes\": {}, \"flows\": {}, \"samples\": {}}}",
        cost.delivered_packets,
        cpu_s,
        cpu_s - start,
        peak_kb as f64 / 1024.0,
        cost.events,
        cost.memory_bytes,
        records.flows.len(),
        records.samples.len(),
    );
    ExitCode::SUCCESS
}
