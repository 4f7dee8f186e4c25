//! Runs random extreme scenarios and checks their records: `fuzz COUNT SEED`. A case depends only on its seed. The
//! first violation of an invariant is printed with its seed and its scenario. `fuzz 0 SEED` prints the scenario of a
//! seed as JSON.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the output is the purpose")]

use std::process::ExitCode;

#[path = "../tests/fuzzing/mod.rs"]
mod fuzzing;

use fuzzing::{check, document, Verdict};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).map(|text| text.parse::<u64>());
    let (Some(Ok(count)), Some(Ok(first)), 2) = (number(0), number(1), arguments.len()) else {
        eprintln!("usage: fuzz COUNT SEED\n  hint: two integers of at least 0, as in `fuzz 300 1`");
        return ExitCode::from(2);
    };
    if count == 0 {
        println!("{}", document(first));
        return ExitCode::SUCCESS;
    }
    std::panic::set_hook(Box::new(|_| {})); // a panic is reported as a violation
    let mut rejected = Vec::new();
    for seed in (0..count).map(|n| first.wrapping_add(n)) {
        match check(seed) {
            Verdict::Passed => {}
            Verdict::Rejected(why) => rejected.push(format!("seed {seed}: {why}")),
            Verdict::Violated(scenario, what) => {
                println!("seed {seed}: {what}\n\n{scenario}");
                println!("again: make fuzz COUNT=1 SEED={seed}");
                return ExitCode::from(1);
            }
        }
    }
    println!("{count} scenarios from seed {first} on: {} rejected, all invariants satisfied", rejected.len());
    for why in &rejected {
        println!("rejected: {why}");
    }
    ExitCode::SUCCESS
}
