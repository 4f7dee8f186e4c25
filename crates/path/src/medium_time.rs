//! Admission control of EDCA: which flows may use an access category for which it is mandatory.
//!
//! A station asks the access point for medium time by a traffic specification (TSPEC) before it uses a category whose bit ACM
//! (admission control mandatory) is set (IEEE 802.11-2016, 10.22.4.2). Of a flow with `reserve`, the medium time of a second is
//!
//! ```text
//! packets of a second = ⌈reserve / (8 · msdu)⌉
//! medium time = surplus · packets · Σ (airtime(msdu) + SIFS + airtime(ACK)), over its links on the medium
//! ```
//!
//! Sources: hostapd, `wmm_process_tspec` (src/ap/wmm.c), whose SIFS and ACK are 50 µs, and whose limit is 750 ms for one TSPEC;
//! here it is for all that are admitted. A flow without admitted time uses the next lower category in which admission is not
//! mandatory (mac80211, `ieee80211_downgrade_queue`), in both directions. Times hold from the start of a flow to its stop. Not
//! modelled: the frames of the request, and the time that is used: an admitted flow may send more than it reserved.

use std::collections::BTreeMap;

use cwndlab_network::wifi::phy::{ACK_BYTES, QOS_OVERHEAD_BYTES, SIFS};
use cwndlab_network::wifi::AccessCategory;
use cwndlab_scenario::plan::{FlowPlan, Plan};
use cwndlab_units::{Duration, FlowId, LinkId, Time};

/// A flow that uses a lower access category than that of its DSCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Downgrade {
    /// The flow.
    pub flow: FlowId,
    /// Its start.
    pub at: Time,
    /// Index of the medium.
    pub medium: u32,
    /// The category that it uses.
    pub category: AccessCategory,
    /// It has no `reserve`.
    pub unasked: bool,
}

/// Whether some category of a medium is under admission control.
pub(crate) fn is_controlled(plan: &Plan) -> bool {
    plan.media.iter().any(|medium| medium.edca.is_some_and(|edca| edca.is_controlled()))
}

/// The flows without admitted medium time, in the order of their starts. `times`: the start and the stop of each flow, in the
/// order of the starts.
pub(crate) fn downgrades(plan: &Plan, times: &[(Time, Time, FlowId)]) -> Vec<Downgrade> {
    let mut found = Vec::new();
    let controlled = plan.media.iter().zip(0u32..).filter_map(|(medium, index)| {
        let edca = medium.edca?;
        edca.is_controlled().then_some((index, edca))
    });
    for (medium, edca) in controlled {
        let mut admitted: Vec<(Time, Duration)> = Vec::new();
        for &(start, stop, flow) in times {
            let one = &plan.flows[flow];
            let category = edca.dscp_mapping.category(one.dscp);
            if !edca.categories[category as usize].acm || !uses(plan, one, medium) {
                continue;
            }
            admitted.retain(|&(stop, _)| stop > start);
            let used = admitted.iter().fold(Duration::ZERO, |sum, &(_, time)| sum + time);
            match medium_time(plan, one, medium, edca.admission.surplus) {
                Some(time) if used + time <= edca.admission.limit => admitted.push((stop, time)),
                time => {
                    let category = edca.without_admission(category);
                    found.push(Downgrade { flow, at: start, medium, category, unasked: time.is_none() });
                }
            }
        }
    }
    found.sort_by_key(|one| (one.at, one.flow, one.medium));
    found
}

fn is_on(plan: &Plan, link: LinkId, medium: u32) -> bool {
    plan.links[link].radio.is_some_and(|radio| radio.medium == medium)
}

fn uses(plan: &Plan, flow: &FlowPlan, medium: u32) -> bool {
    flow.forward.iter().chain(&*flow.reverse).any(|&link| is_on(plan, link, medium))
}

/// The medium time of a second that a flow reserves; `None` if it reserves none.
fn medium_time(plan: &Plan, flow: &FlowPlan, medium: u32, surplus: u16) -> Option<Duration> {
    let rate = flow.reserve?;
    let msdu = flow.msdu.unwrap_or(flow.stack.mss + flow.stack.header);
    let bytes = msdu.0.min(u64::from(u16::MAX)) as u32;
    let packets = rate.0.div_ceil(8).div_ceil(msdu.0);
    let radios =
        flow.forward.iter().filter(|&&link| is_on(plan, link, medium)).filter_map(|&link| plan.links[link].radio);
    let exchange = radios.fold(Duration::ZERO, |sum, radio| {
        sum + radio.mode.airtime(bytes + QOS_OVERHEAD_BYTES) + SIFS + radio.mode.control().airtime(ACK_BYTES)
    });
    let nanos = u128::from(exchange.as_nanos()) * u128::from(packets) * u128::from(surplus) / 8192;
    Some(Duration::from_nanos(nanos.min(u128::from(u64::MAX)) as u64))
}

/// By link and flow, the category of the packets of flows without admitted time.
pub(crate) fn categories(plan: &Plan, downgrades: &[Downgrade]) -> BTreeMap<(LinkId, FlowId), AccessCategory> {
    let mut of = BTreeMap::new();
    for one in downgrades {
        let flow = &plan.flows[one.flow];
        let links = flow.forward.iter().chain(&*flow.reverse).filter(|&&link| is_on(plan, link, one.medium));
        of.extend(links.map(|&link| ((link, one.flow), one.category)));
    }
    of
}
