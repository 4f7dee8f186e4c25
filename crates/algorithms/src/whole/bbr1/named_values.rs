//! The variables of BBR version 1 as named numbers, under the names of version 3.

use cwndlab_control::Extra;

use crate::shared::bbr::{send_quantum, Mode};
use crate::whole::bbr1::machine::Bbr1;

impl Bbr1 {
    /// The state by the numbers of version 3, with the phases of ProbeBW by their gains: Startup 0, Drain 1, below one 2,
    /// one 3, above one 5, ProbeRTT 6.
    fn state_number(&self) -> f64 {
        match self.mode {
            Mode::Startup => 0.0,
            Mode::Drain => 1.0,
            Mode::ProbeBw if self.pacing_gain < 1.0 => 2.0,
            Mode::ProbeBw if self.pacing_gain > 1.0 => 5.0,
            Mode::ProbeBw => 3.0,
            Mode::ProbeRtt => 6.0,
        }
    }

    /// The variables that versions 1 and 3 share, under the names of version 3.
    pub(super) fn named_values(&self, put: Extra<'_>) {
        put("state", self.state_number());
        put("round_count", self.path.rounds.count as f64);
        put("pacing_gain", self.pacing_gain);
        put("cwnd_gain", self.cwnd_gain);
        put("max_bw_segments_per_s", self.path.bw.get());
        put("bw_segments_per_s", self.path.rate());
        put("min_rtt_s", self.path.min_rtt.as_nanos() as f64 * 1e-9);
        put("probe_rtt_min_stamp_s", self.path.min_rtt_at.as_nanos() as f64 * 1e-9);
        put("bdp_segments", self.path.bdp(self.path.rate(), 1.0));
        put("extra_acked_segments", self.path.aggregation.extra());
        put("send_quantum_segments", send_quantum(self.pacing, self.mss));
        put("inflight_segments", self.in_flight);
        put("full_bw_count", f64::from(self.path.full.rounds));
        put("full_bw_reached", f64::from(u8::from(self.path.full.reached)));
        put("idle_restart", f64::from(u8::from(self.idle_restart)));
    }
}
