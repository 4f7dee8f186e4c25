//! The Linux stack, for unit and integration tests of this crate.

use cwndlab_units::{Bytes, Duration};

use super::stack::{
    AckCounting, Ecn, IdleRestart, Pacing, PeerEcn, Prr, Rampdown, RtoArithmetic, RtoRestart, Rules, Stack,
};

/// The defaults of Linux 6.x, without timestamps as in packetdrill's scripts.
pub(crate) fn linux() -> Stack {
    Stack {
        mss: Bytes(1000),
        header: Bytes(40),
        ack: Bytes(40),
        sack_block: Bytes(8),
        ack_counting: AckCounting::Bytes,
        initial_window: 10,
        initial_ssthresh: None,
        min_rto: Duration::from_millis(200),
        max_rto: Duration::from_secs(120),
        initial_rto: Duration::from_secs(1),
        rto_arithmetic: RtoArithmetic::Exact,
        rto_granularity: Duration::ZERO, // timers expire exactly; those that expire at ticks have their own tests
        rto_floor_on_variance: true,
        rto_restart: RtoRestart::Retransmission,
        ack_every: 2,
        ack_delay: Duration::from_millis(40),
        quick_acks: 16,
        sack: true,
        sack_blocks: 4,
        dsack: true,
        sack_compression: 0,
        piggyback: false,
        conceal_losses: false,
        ack_division: 1,
        timestamps: false,
        paws: true,
        ecn: Ecn::Off,
        peer_ecn: PeerEcn::Accurate,
        accecn_option: true,
        ecn_acks: true,
        ect1: false,
        pacing: Pacing::Algorithm,
        pacing_quantum: 2,
        tso_burst: true,
        rules: Rules::Linux,
        receive_window: Bytes(64 << 20),
        auto_tuning: true,
        initial_receive_window: Bytes(65_535),
        read_rate: None,
        idle_restart: IdleRestart::Decay,
        limited_transmit: true,
        undo: true,
        tail_loss_probe: true,
        prr: Prr::Rfc9937,
        rampdown: Rampdown::None,
        dup_thresh: 3,
        syn_retries: 6,
        syn_linear_timeouts: 4,
        exit_burst: 0,
        first_segment: 0,
    }
}
