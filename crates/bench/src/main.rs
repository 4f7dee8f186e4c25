//! Measures the simulator in a process without Python and Arrow.
//!
//! `cwndlab-bench run SCENARIO.toml [SEED [THREADS]]` prints one JSON line with the user time, the time by the clock and the
//! peak memory of the process.
//! `cwndlab-bench schedule SCENARIO.toml THREADS …` prints one JSON line per number of threads with the time that its parts
//! take, one after another and in windows together.
//! `cwndlab-bench memory SCENARIO.toml` prints one JSON line with the peak memory up to the end of the run, before the rows of
//! its tables are made, and with them.
//! `cwndlab-bench algorithms [NAME …]` prints one JSON line per algorithm with its time per ACK, for the event stream
//! of the conformance tests.
#![allow(clippy::print_stdout, reason = "the output is the purpose")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use cwndlab_scenario::plan::Plan;
use cwndlab_scenario::Scenario;
use cwndlab_simulator::{RunState, Schedule, Stop, Stops};
use cwndlab_units::Time;

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
        (Some("schedule"), Some(path)) => {
            let threads = arguments.iter().skip(2).filter_map(|text| text.parse().ok()).collect();
            schedule(Path::new(path), threads)
        }
        (Some("memory"), Some(path)) => memory(Path::new(path)),
        (Some("run"), Some(path)) => {
            let number = |at: usize| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(1);
            run(Path::new(path), number(2), number(3) as usize)
        }
        _ => {
            eprintln!("usage: cwndlab-bench run SCENARIO.toml [SEED [THREADS]]\n       cwndlab-bench schedule SCENARIO.toml THREADS ...\n       cwndlab-bench memory SCENARIO.toml\n       cwndlab-bench algorithms [NAME ...]");
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

/// The plan of a file of TOML; `None` after its faults are printed.
fn plan(path: &Path) -> Option<Plan> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{}: cannot be read: {error}", path.display());
            return None;
        }
    };
    let planned =
        Scenario::from_toml(&text, path.parent()).and_then(|scenario| scenario.plan(&cwndlab_simulator::catalogue()));
    match planned {
        Ok((plan, _)) => Some(plan),
        Err(faults) => {
            for fault in &faults {
                eprintln!("{fault}");
            }
            None
        }
    }
}

/// Prints what a run on these numbers of threads would take, by its parts, which run one after another.
fn schedule(path: &Path, threads: Vec<usize>) -> ExitCode {
    let Some(plan) = plan(path) else { return ExitCode::from(2) };
    let begin = Instant::now();
    for threads in threads {
        let Ok(outcome) = cwndlab_simulator::schedule(&plan, 1, threads, &|| begin.elapsed().as_secs_f64()) else {
            return ExitCode::from(1);
        };
        let Some(Schedule { links, one_thread, several_threads }) = outcome else {
            eprintln!("{}: runs on one thread", path.display());
            return ExitCode::from(2);
        };
        println!(
            "{{\"threads\": {threads}, \"links_s\": {links:.6}, \"one_thread_s\": {one_thread:.6}, \"several_threads_s\": {several_threads:.6}}}"
        );
    }
    ExitCode::SUCCESS
}

/// Notes the peak memory at the end of the run, kB.
#[derive(Default)]
struct PeakAtEnd(u64);

impl Stops for PeakAtEnd {
    fn next(&self) -> Time {
        Time::MAX
    }

    fn stop(&mut self, reason: Stop, _: &mut RunState<'_, '_>) {
        if reason == Stop::End {
            self.0 = usage().1;
        }
    }
}

fn memory(path: &Path) -> ExitCode {
    let Some(plan) = plan(path) else { return ExitCode::from(2) };
    let mut at_end = PeakAtEnd::default();
    let Ok((_, cost)) = cwndlab_simulator::run_stopping(&plan, 1, &AtomicBool::new(false), &mut at_end) else {
        return ExitCode::from(1);
    };
    println!(
        "{{\"state_bytes\": {}, \"peak_before_rows_kb\": {}, \"peak_kb\": {}}}",
        cost.memory_bytes,
        at_end.0,
        usage().1
    );
    ExitCode::SUCCESS
}

fn run(path: &Path, seed: u64, threads: usize) -> ExitCode {
    let Some(plan) = plan(path) else { return ExitCode::from(2) };
    let (start, _) = usage();
    let begin = Instant::now();
    let cancel = AtomicBool::new(false);
    let outcome = match threads {
        1 => cwndlab_simulator::run_counted(&plan, seed, &cancel, None),
        _ => cwndlab_simulator::run_parallel(&plan, seed, threads, &cancel, None),
    };
    let Ok((records, cost)) = outcome else { return ExitCode::from(1) };
    let wall_s = begin.elapsed().as_secs_f64();
    let (cpu_s, peak_kb) = usage();
    println!(
        "{{\"packets\": {}, \"cpu_s\": {:.6}, \"engine_s\": {:.6}, \"wall_s\": {:.6}, \"peak_rss_mb\": {:.3}, \"events\": {}, \"state_bytes\": {}, \"flows\": {}, \"samples\": {}}}",
        cost.delivered_packets,
        cpu_s,
        cpu_s - start,
        wall_s,
        peak_kb as f64 / 1024.0,
        cost.events,
        cost.memory_bytes,
        records.flows.len(),
        records.samples.len(),
    );
    ExitCode::SUCCESS
}
