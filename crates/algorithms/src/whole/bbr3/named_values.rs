//! The variables of BBR version 3 as named numbers, under the names of the draft with their units.

use cwndlab_control::Extra;
use cwndlab_units::Duration;

use crate::shared::bbr::{send_quantum, Mode};
use crate::whole::bbr3::cycle::Phase;
use crate::whole::bbr3::machine::Bbr3;

fn flag(set: bool) -> f64 {
    f64::from(u8::from(set))
}

fn seconds(duration: Option<Duration>) -> f64 {
    duration.map_or(f64::INFINITY, |known| known.as_nanos() as f64 * 1e-9)
}

impl Bbr3 {
    /// The state in the order of the draft: Startup 0, Drain 1, ProbeBW_DOWN 2, CRUISE 3, REFILL 4, UP 5, ProbeRTT 6.
    fn state_number(&self) -> f64 {
        match (self.mode, self.cycle.phase) {
            (Mode::Startup, _) => 0.0,
            (Mode::Drain, _) => 1.0,
            (Mode::ProbeBw, Phase::Down) => 2.0,
            (Mode::ProbeBw, Phase::Cruise) => 3.0,
            (Mode::ProbeBw, Phase::Refill) => 4.0,
            (Mode::ProbeBw, Phase::Up) => 5.0,
            (Mode::ProbeRtt, _) => 6.0,
        }
    }

    pub(super) fn named_values(&self, put: Extra<'_>) {
        put("state", self.state_number());
        put("round_count", self.path.rounds.count as f64);
        put("pacing_gain", self.pacing_gain);
        put("cwnd_gain", self.cwnd_gain());
        put("inflight_segments", self.in_flight);
        put("idle_restart", flag(self.idle_restart));
        put("drain_start_round", self.drain_start_round as f64);
        put("undo_state", f64::from(self.undo_state as u8));
        put("prior_cwnd_segments", self.recovery.prior);
        self.model_values(put);
        self.bound_values(put);
        self.cycle_values(put);
    }

    fn model_values(&self, put: Extra<'_>) {
        let path = &self.path;
        put("max_bw_segments_per_s", path.bw.get());
        put("bw_segments_per_s", path.rate());
        put("min_rtt_s", seconds(path.min_rtt.get()));
        let (probe_rtt_min_delay, probe_rtt_min_stamp) = path.min_rtt.recent();
        put("probe_rtt_min_delay_s", seconds(probe_rtt_min_delay));
        put("probe_rtt_min_stamp_s", probe_rtt_min_stamp.as_nanos() as f64 * 1e-9);
        put("bdp_segments", path.bdp(path.rate(), 1.0));
        put("extra_acked_segments", if self.is_draft() { path.extra_acked.get() } else { path.aggregation.extra() });
        put("max_inflight_segments", self.max_inflight());
        put("send_quantum_segments", send_quantum(self.pacing, path.mss));
        put("full_bw_segments_per_s", path.full.bw);
        put("full_bw_count", f64::from(path.full.rounds));
        put("full_bw_now", flag(path.full.at_plateau));
        put("full_bw_reached", flag(path.full.reached));
    }

    fn bound_values(&self, put: Extra<'_>) {
        let bounds = &self.path.bounds;
        put("bw_shortterm_segments_per_s", bounds.bw_short);
        put("inflight_shortterm_segments", bounds.inflight_short);
        put("inflight_longterm_segments", bounds.inflight_long);
        put("undo_bw_shortterm_segments_per_s", bounds.undo.0);
        put("undo_inflight_shortterm_segments", bounds.undo.1);
        put("undo_inflight_longterm_segments", bounds.undo.2);
        put("is_loss_in_round", flag(bounds.loss_in_round));
        if self.options.ecn {
            put("ecn_alpha", self.path.ecn.alpha);
            put("ecn_eligible", flag(self.path.ecn.eligible));
        }
    }

    fn cycle_values(&self, put: Extra<'_>) {
        let cycle = &self.cycle;
        put("ack_phase", f64::from(cycle.ack_phase as u8));
        put("is_bw_probe_sample", flag(cycle.samples));
        put("cycle_stamp_s", cycle.started.as_nanos() as f64 * 1e-9);
        put("bw_probe_wait_s", cycle.wait.as_nanos() as f64 * 1e-9);
        put("rounds_since_probe_up", cycle.rounds);
        put("bw_probe_up_rounds", f64::from(cycle.up_rounds));
        put("probe_up_acked_per_inc_segments", cycle.up_each);
        put("prev_probe_too_high", flag(cycle.too_high));
        put("prev_probe_precautionary", flag(cycle.risky));
    }
}
