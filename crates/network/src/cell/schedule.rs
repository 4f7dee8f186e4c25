//! The scheduler of a direction: which bearer is next in a TTI.

use super::config::SchedulerKind;

/// A bearer with data in a TTI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) bearer: usize,
    pub(super) cqi: u8,
    /// Achievable rate, bits in a resource block and TTI.
    pub(super) bits: f64,
    /// Mean throughput, bits per TTI.
    pub(super) mean: f64,
    /// The last TTI with a transmission.
    pub(super) served: u64,
    /// Bytes of new data.
    pub(super) bytes: u64,
}

/// Removes and returns the next bearer: by the highest metric, then by the longest time without service.
///
/// Proportional fair: r / T (F. Kelly, "Charging and rate control for elastic traffic", 1997; the update of T as in
/// `PfFfMacScheduler` of ns-3).
pub(super) fn next(kind: SchedulerKind, candidates: &mut Vec<Candidate>) -> Option<Candidate> {
    let metric = |one: &Candidate| match kind {
        SchedulerKind::ProportionalFair => one.bits / one.mean,
        SchedulerKind::RoundRobin => 0.0,
        SchedulerKind::MaxRate => one.bits,
    };
    let best = candidates.iter().enumerate().max_by(|(_, one), (_, other)| {
        let longer = (other.served, other.bearer).cmp(&(one.served, one.bearer));
        metric(one).total_cmp(&metric(other)).then(longer)
    })?;
    let place = best.0;
    Some(candidates.swap_remove(place))
}
