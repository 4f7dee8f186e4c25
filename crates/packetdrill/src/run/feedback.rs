//! The feedback of Accurate ECN of our side as a receiver: what its packets report (RFC 9768, section 3.2; Linux,
//! `tcp_established_options`).

use cwndlab_transport::accecn::{Codepoint, MarkCounters, MarkTotals, OptionUse};
use cwndlab_transport::accecn_option::AccEcnOption;
use cwndlab_transport::stack::Ecn;
use cwndlab_units::{Duration, Time};

use super::handshake::Negotiated;
use super::wire::{codepoint, read_accecn};
use crate::script::Packet;
use crate::settings::{AccEcnSettings, OptionSetting};

/// Options that a change of the ECN field demands (Linux, `accecn_opt_demand`).
const DEMANDED_BY_CHANGE: u8 = 2;

/// The counters of our side, and the state that decides when it sends the option. An option for every 2²² bytes is left out,
/// which no script sends.
#[derive(Debug)]
pub(super) struct Feedback {
    counters: MarkCounters,
    settings: AccEcnSettings,
    timestamps: bool,
    /// The peer sent an option. Linux sends none before (`saw_accecn_opt`).
    peer_sends: bool,
    /// Options that are to be sent.
    demand: u8,
    /// The ECN field of the last packet.
    latest: Codepoint,
    option_at: Time,
}

impl Feedback {
    /// The feedback of a connection; `None` without Accurate ECN. `first` is the SYN-ACK, or the packet that acknowledges
    /// ours; before it a packet arrived with this ECN field, and this number of options is to be sent.
    pub(super) fn new(
        settings: AccEcnSettings,
        negotiated: &Negotiated,
        first: &Packet,
        (latest, demand): (Codepoint, u8),
    ) -> Option<Self> {
        let counters = MarkCounters::default();
        let peer_sends = first.options().find_map(read_accecn).is_some();
        let timestamps = negotiated.timestamps;
        let option_at = Time::ZERO;
        let new = Self { counters, settings, timestamps, peer_sends, demand, latest, option_at };
        (negotiated.ecn == Ecn::AccEcn).then_some(new)
    }

    /// Whether each packet has an option, which makes segments smaller.
    pub(super) fn is_on_each_packet(&self) -> bool {
        self.peer_sends && self.settings.option == OptionSetting::Always
    }

    /// Handles a SYN-ACK.
    pub(super) fn on_syn_ack(&mut self, packet: &Packet) {
        self.counters.on_syn_ack(codepoint(packet.ecn));
        self.peer_sends |= packet.options().find_map(read_accecn).is_some();
        if self.peer_sends {
            self.demand = self.demand.max(1);
        }
    }

    /// Counts any other packet.
    pub(super) fn on_packet(&mut self, packet: &Packet) {
        let arrived = codepoint(packet.ecn);
        self.counters.on_packet(arrived, packet.len as u32);
        self.peer_sends |= packet.options().find_map(read_accecn).is_some();
        if arrived != self.latest || arrived == Codepoint::Ce {
            (self.latest, self.demand) = (arrived, DEMANDED_BY_CHANGE);
        }
    }

    /// The ACE field and the option of the next packet.
    pub(super) fn next(&mut self, now: Time, srtt: Duration) -> (u8, Option<AccEcnOption>) {
        let is_due = match self.settings.option {
            OptionSetting::Never => false,
            OptionSetting::Always => true,
            OptionSetting::Sparingly => self.demand > 0 || self.beacon_is_due(now, srtt),
        };
        let option = if is_due && self.peer_sends { OptionUse::Always } else { OptionUse::Never };
        let (feedback, _) = self.counters.feedback(0, self.timestamps, option);
        if feedback.option.is_some() {
            self.option_at = now;
            self.demand = self.demand.saturating_sub(1);
        }
        (feedback.ace, feedback.option)
    }

    /// Whether no option was sent for long (Linux, `tcp_accecn_option_beacon_check`).
    fn beacon_is_due(&self, now: Time, srtt: Duration) -> bool {
        let beacon = u64::from(self.settings.beacon);
        beacon > 0 && now.saturating_since(self.option_at) * beacon >= srtt
    }

    /// Whether ACKs with marks are to be acknowledged.
    pub(super) fn acknowledges_acks(&self) -> bool {
        self.counters.acknowledges_acks()
    }

    /// What arrived.
    pub(super) fn received(&self) -> MarkTotals {
        self.counters.received()
    }
}

/// The option of a SYN-ACK: the initial values of the counters.
pub(super) fn option_of_syn_ack(settings: AccEcnSettings, timestamps: bool) -> Option<AccEcnOption> {
    let option = if settings.option == OptionSetting::Never { OptionUse::Never } else { OptionUse::Always };
    MarkCounters::default().feedback(0, timestamps, option).0.option
}
