//! Runs a scenario with the catalogue and `gentle`, and writes records for `cwndlab report`.
//!
//! `run SCENARIO.toml SEED DIR [FIELD=VALUE …]`

use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use cwndlab_records::parquet;
use cwndlab_records::table::{Header, Tables};
use cwndlab_scenario::Scenario;
use cwndlab_units::{Fault, Time};

fn fault_text(faults: Vec<Fault>) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, seed, folder, changes @ ..] = &arguments[..] else {
        return Err("usage: run SCENARIO.toml SEED DIR [FIELD=VALUE …]".into());
    };
    let (file, seed) = (Path::new(file), seed.parse()?);

    // Adds the algorithm as another entry of the catalogue.
    let mut catalogue = cwndlab_simulator::catalogue();
    catalogue.specs.push(&gentle::SPEC);

    let mut scenario = Scenario::from_toml(&std::fs::read_to_string(file)?, file.parent()).map_err(fault_text)?;
    for change in changes {
        let (field, value) = change.split_once('=').ok_or("write FIELD=VALUE")?;
        scenario.set(field, value).map_err(fault_text)?;
    }
    // Declares the algorithm in the scenario, so that readers of the records can identify it.
    scenario
        .set(
            "algorithms",
            r#"{ gentle = { class = "Gentle", kind = "growth", file = "examples/own-algorithm-rust/src/lib.rs", parameters = { a = 1.0 } } }"#,
        )
        .map_err(fault_text)?;
    let (plan, notes) = scenario.plan(&catalogue).map_err(fault_text)?;

    let records = cwndlab_simulator::run(&plan, seed, &AtomicBool::new(false), None)?;

    let header = Header {
        scenario: scenario.to_json(),
        scenario_hash: plan.scenario_hash.clone(),
        seed,
        engine: "simulate".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: String::new(),
        duration: plan.duration,
        measure_from: Time::ZERO + plan.measure_from,
        sample_interval: plan.sample_interval,
        notes,
    };
    for flow in &records.flows {
        let mbit_s = flow.delivered_bytes as f64 * 8e3 / plan.duration.as_nanos() as f64;
        println!("{}  {}  {mbit_s:.1} Mbit/s", flow.name, flow.algorithm);
    }
    parquet::write(&Tables::new(header, records), Path::new(folder))?;
    Ok(())
}
