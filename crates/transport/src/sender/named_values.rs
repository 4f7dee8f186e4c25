//! The variables of the transport as named numbers, for the table `named_values`.

use cwndlab_control::Extra;
use cwndlab_units::{Duration, Rate};

use super::Sender;

fn seconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 * 1e-9
}

impl Sender {
    /// Reports the variables of the transport, with the prefix `transport.`, and those of the algorithm. Windows are in
    /// segments, as the transport counts them, times in seconds.
    pub fn named_values(&self, put: Extra<'_>) {
        let tcb = &self.tcb;
        let state = self.state();
        put("transport.cwnd_segments", f64::from(tcb.cwnd));
        put("transport.in_flight_segments", f64::from(tcb.scoreboard.in_flight()));
        put("transport.flight_size_segments", f64::from(state.outstanding.unacked));
        put("transport.sacked_segments", f64::from(tcb.scoreboard.sacked));
        put("transport.una_segments", tcb.scoreboard.una as f64);
        put("transport.next_segments", tcb.scoreboard.next as f64);
        put("transport.lost_segments", tcb.controller.lost() as f64);
        put("transport.sent_packets", state.counters.sent_packets as f64);
        put("transport.retransmitted_packets", state.counters.retransmitted_packets as f64);
        put("transport.ca_state", f64::from(tcb.state as u8));
        put("transport.app_limited", f64::from(u8::from(tcb.rate.is_app_limited())));
        put("transport.round", tcb.rate.round() as f64);
        put("transport.pacing_rate_bps", state.pacing_rate.map_or(f64::INFINITY, |Rate(bps)| bps as f64));
        put("transport.srtt_s", seconds(state.srtt.unwrap_or_default()));
        put("transport.rtt_s", seconds(state.rtt.unwrap_or_default()));
        put("transport.min_rtt_s", seconds(state.min_rtt.unwrap_or_default()));
        put("transport.rto_s", seconds(state.rto));
        put("transport.delivery_rate_bps", state.delivery_rate.unwrap_or_default().0 as f64);
        self.recovery_values(put);
        let of_algorithm = tcb.controller.algorithm().state(Some(put));
        put("transport.ssthresh_segments", tcb.controller.exact_ssthresh(of_algorithm.ssthresh));
    }

    /// Proportional rate reduction (RFC 9937), and RACK (RFC 8985).
    fn recovery_values(&self, put: Extra<'_>) {
        let tcb = &self.tcb;
        let (delivered, out, recover_fs) = tcb.prr.values();
        put("transport.prr_delivered_segments", f64::from(delivered));
        put("transport.prr_out_segments", f64::from(out));
        put("transport.recover_fs_segments", f64::from(recover_fs));
        if tcb.features.time_based {
            let (rtt, reo_wnd_mult, reordering_seen) = tcb.rack.values();
            put("transport.rack_rtt_s", seconds(rtt));
            put("transport.rack_reo_wnd_mult", f64::from(reo_wnd_mult));
            put("transport.rack_reordering_seen", f64::from(u8::from(reordering_seen)));
        }
    }
}
