//! QUIC over a wire in memory against the simulator's TCP on the same path.

mod wire;

use std::sync::atomic::AtomicBool;

use cwndlab_quic::{controller, Factory};
use cwndlab_scenario::Scenario;
use serde_json::json;
use wire::{transfer, Line, Outcome, Work, HEADERS, MTU};

#[test]
fn look() {
    for name in ["reno", "cubic"] {
        let factory = Factory::clone(&controller(name).expect("x")).seed(1);
        let out = transfer(factory, Work::Endless, Line::new(20_000_000, 20_000_000, 68), Line::new(1_000_000_000, 20_000_000, 10_000), 20_000_000_000);
        println!("{name}: {} answers, delivered {} drops {} most {}", out.answers.len(), out.delivered, out.drops, out.most_in_flight);
        for a in out.answers.iter().filter(|a| a.congestion) { println!("  {:?}", a); }
        for a in out.answers.iter().take(40) { println!("  {:?}", a); }
    }
}
