//! What a run would write down: more rows than a machine's memory holds are refused before it begins.

use cwndlab_config::{Fault, Faults};
use cwndlab_traffic::application::Offered;

use crate::plan::Plan;

/// The most rows of all tables together: a sample takes about 250 bytes, so these are 12 GB.
const MOST_ROWS: f64 = 50e6;
/// Datagrams are numbered in 32 bits.
const MOST_DATAGRAMS: f64 = u32::MAX as f64;

/// Faults of a plan whose run would write down too much; `path` is where a flow of the plan stands in the document.
pub(super) fn check(plan: &Plan, path: impl Fn(usize) -> String) -> Vec<Fault> {
    let mut faults = Faults::default();
    let most = MOST_ROWS as u64;
    let end = plan.duration.0 as f64;
    if plan.sample_interval.0 > 0 {
        let instants = end / plan.sample_interval.0 as f64;
        let sampled = plan.links.iter().filter(|link| link.sampled).count();
        let each = (plan.flows.len() + sampled) as f64;
        if instants * each > MOST_ROWS {
            let least = (end * each / MOST_ROWS / 1e6).ceil().max(1.0);
            faults.add(
                "sample_interval",
                format!(
                    "{instants:.0} samples of {} flows and {sampled} links are more than {most} rows",
                    plan.flows.len()
                ),
                format!("an interval of {least} ms or more; \"0 s\" takes none"),
            );
        }
    }
    let (mut transfers, mut packets) = (0.0, 0.0);
    for (number, flow) in plan.flows.iter().enumerate() {
        let stop = flow.stop.map_or(plan.duration, |stop| stop.min(plan.duration));
        let span = stop.0.saturating_sub(flow.start.0) as f64;
        let hops = (flow.forward.len() + flow.reverse.len()) as f64;
        match flow.workload.offered() {
            Offered::Transfers { per_second, count } => {
                let expected = (per_second * span * 1e-9).min(count.map_or(f64::INFINITY, |count| count as f64));
                transfers += expected;
                if transfers > MOST_ROWS {
                    faults.add(
                        format!("{}.workload", path(number)),
                        format!("{expected:.0} transfers are expected; a run records {most} at most"),
                        "fewer 'per_second', a smaller 'load' or a 'count', larger sizes, a shorter duration",
                    );
                    return faults.0;
                }
                packets += expected * hops;
            }
            Offered::Packets { per_second } => {
                let expected = per_second * span * 1e-9;
                if expected > MOST_DATAGRAMS {
                    faults.add(
                        format!("{}.workload", path(number)),
                        format!("{expected:.0} datagrams are expected; {MOST_DATAGRAMS:.0} have a number"),
                        "a lower rate, larger packets or a shorter duration",
                    );
                }
                packets += expected * flow.forward.len() as f64;
            }
            Offered::Bytes(bytes) => {
                let size = (flow.stack.mss.0 + flow.stack.header.0) as f64;
                let rates = flow.forward.iter().filter_map(|&link| plan.links[link as usize].rate);
                let line = rates.min().map_or(0.0, |rate| rate.0 as f64 / 8.0 * span * 1e-9);
                packets += bytes.map_or(line, |bytes| line.min(bytes.0 as f64)) / size * hops;
            }
            Offered::Unknown => {}
        }
    }
    if plan.packets && packets > MOST_ROWS {
        faults.add(
            "packets",
            format!("about {packets:.0} rows would be recorded, one per packet and link; {most} are the most"),
            "a shorter duration, lower rates, or 'packets = false'",
        );
    }
    faults.0
}
