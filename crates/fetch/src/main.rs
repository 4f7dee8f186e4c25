//! `cwndlab-measure`: transfers from a `cwndlab serve`, a line of JSON each on standard output.
//!
//! For machines without Python, such as Windows: one file, nothing to install.

use std::fmt::Display;
use std::io::{stdout, Write as _};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::Duration;

use cwndlab_fetch::fetch::{fetch, FetchOptions};
use cwndlab_units::Fault;
use lexopt::{Arg, Parser, ValueExt as _};
use serde_json::json;

const HELP: &str = "\
cwndlab-measure https://HOST:PORT --token TEXT [options]
Fetches from `cwndlab serve` and prints a line of JSON for each transfer.

  --token TEXT        a token of the server; by default that of the variable CWNDLAB_TOKEN
  --algorithms A,B    the sender's algorithms, in turn; by default the server's
  --rounds N          rounds, each with one transfer per algorithm; 1 by default
  --bytes N           size of a transfer; 20000000 by default
  --pause S           seconds between two transfers; 1 by default
  --transport T       tcp (the default) or quic
  --trust X           a PEM file, or the fingerprint that `cwndlab serve` printed
  --timeout S         largest duration of a transfer, in seconds; 600 by default";

/// What the command line asks for.
struct Plan {
    options: FetchOptions,
    algorithms: Vec<String>,
    rounds: u32,
    pause: Duration,
}

/// Reads the command line; `None` asks for the help.
fn plan(mut parser: Parser) -> Result<Option<Plan>, lexopt::Error> {
    let mut plan = Plan {
        options: FetchOptions {
            url: String::new(),
            token: std::env::var("CWNDLAB_TOKEN").unwrap_or_default(),
            algorithm: None,
            size_bytes: 20_000_000,
            first_byte: 0,
            transport: "tcp".to_owned(),
            trust: None,
            timeout: Duration::from_secs(600),
        },
        algorithms: Vec::new(),
        rounds: 1,
        pause: Duration::from_secs(1),
    };
    let seconds = |text: String| {
        let value = text.parse().map_err(|_| format!("'{text}' is not a number of seconds"))?;
        Duration::try_from_secs_f64(value).map_err(|_| format!("'{text}' is not a duration"))
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => return Ok(None),
            Arg::Long("token") => plan.options.token = parser.value()?.string()?,
            Arg::Long("algorithms") => {
                plan.algorithms = parser.value()?.string()?.split(',').map(|one| one.trim().to_owned()).collect();
            }
            Arg::Long("rounds") => plan.rounds = parser.value()?.parse()?,
            Arg::Long("bytes") => plan.options.size_bytes = parser.value()?.parse()?,
            Arg::Long("pause") => plan.pause = seconds(parser.value()?.string()?)?,
            Arg::Long("transport") => plan.options.transport = parser.value()?.string()?,
            Arg::Long("trust") => plan.options.trust = Some(parser.value()?.string()?),
            Arg::Long("timeout") => plan.options.timeout = seconds(parser.value()?.string()?)?,
            Arg::Value(url) if plan.options.url.is_empty() => plan.options.url = url.string()?,
            other => return Err(other.unexpected()),
        }
    }
    if plan.options.url.is_empty() {
        return Err("no address of a server".into());
    }
    Ok(Some(plan))
}

/// Prints a line.
fn print(line: &impl Display) -> Result<(), Fault> {
    let mut out = stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|cause| Fault::new("standard output", cause.to_string(), ""))
}

/// Runs all transfers.
fn measure(plan: &Plan) -> Result<(), Fault> {
    let algorithms: Vec<Option<String>> = match plan.algorithms.as_slice() {
        [] => vec![None],
        some => some.iter().cloned().map(Some).collect(),
    };
    let mut is_first = true;
    for round in 0..plan.rounds {
        for algorithm in &algorithms {
            if !std::mem::take(&mut is_first) {
                sleep(plan.pause);
            }
            let options = FetchOptions { algorithm: algorithm.clone(), ..plan.options.clone() };
            let mut result = fetch(&options, &AtomicBool::new(false), &mut |_| true)?.json();
            result["url"] = json!(options.url);
            result["round"] = json!(round);
            result["requested"] = json!(algorithm);
            result["size_bytes"] = json!(options.size_bytes);
            print(&result)?;
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match plan(Parser::from_env()) {
        Ok(plan) => match plan.map_or_else(|| print(&HELP), |plan| measure(&plan)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(fault) => {
                eprintln!("cwndlab-measure: {fault}");
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            eprintln!("cwndlab-measure: {error}\n{HELP}");
            ExitCode::from(2)
        }
    }
}
