//! Proportional rate reduction: the window during a reduction to `ssthresh` (RFC 9937; RFC 6937; Linux,
//! tcp_cwnd_reduction).

/// The variables of PRR.
#[derive(Debug, Default)]
pub(crate) struct Prr {
    /// Segments delivered since the start of the reduction (`prr_delivered`).
    delivered: u32,
    /// Segments sent since then (`prr_out`).
    out: u32,
    /// Segments in flight at its start (`RecoverFS`).
    recover_fs: u32,
}

impl Prr {
    /// Starts a reduction with `recover_fs` segments in flight.
    pub(crate) fn start(&mut self, recover_fs: u32) {
        *self = Self { delivered: 0, out: 0, recover_fs: recover_fs.max(1) };
    }

    /// `prr_delivered`, `prr_out` and `RecoverFS`, segments.
    pub(crate) fn values(&self) -> (u32, u32, u32) {
        (self.delivered, self.out, self.recover_fs)
    }

    /// Counts a segment sent during the reduction.
    #[inline]
    pub(crate) fn on_sent(&mut self) {
        self.out += 1;
    }

    /// The window after an ACK that delivers segments and leaves `pipe` in flight. A `safe` ACK adds one segment below
    /// `ssthresh`; the first ACK allows at least one.
    pub(crate) fn cwnd(&mut self, pipe: u32, ssthresh: u32, delivered: u32, safe: bool) -> u32 {
        self.delivered += delivered;
        pipe + self.sndcnt(pipe, ssthresh, delivered, safe).max(u32::from(self.out == 0))
    }

    /// Segments that this ACK allows to send (RFC 9937, section 6, `SndCnt`).
    fn sndcnt(&self, pipe: u32, ssthresh: u32, delivered: u32, safe: bool) -> u32 {
        if pipe > ssthresh {
            let share = u64::from(self.delivered) * u64::from(ssthresh);
            return (share.div_ceil(u64::from(self.recover_fs)) as u32).saturating_sub(self.out);
        }
        let limit = self.delivered.saturating_sub(self.out).max(delivered) + u32::from(safe);
        limit.min(ssthresh - pipe)
    }
}

#[cfg(test)]
mod tests {
    use super::Prr;

    /// SndCnt after one more delivery.
    fn sndcnt(pipe: u32, delivered: u32, out: u32, safe: bool) -> u32 {
        Prr { delivered, out, recover_fs: 20 }.sndcnt(pipe, 10, 1, safe)
    }

    /// `known-answers.csv`: RecoverFS 20, ssthresh 10, 6 delivered, 2 out: ⌈6 · 10/20⌉ − 2 = 1.
    #[test]
    fn prr_sends_its_share_while_the_pipe_is_above_ssthresh() {
        assert_eq!(sndcnt(14, 6, 2, false), 1);
        assert_eq!(sndcnt(11, 20, 0, false), 10);
    }

    /// By hand: pipe 4 below ssthresh 10, 12 delivered, 8 out: 4, and 5 on a safe ACK.
    #[test]
    fn prr_catches_up_below_ssthresh_and_adds_one_on_a_safe_ack() {
        assert_eq!(sndcnt(4, 12, 8, false), 4);
        assert_eq!(sndcnt(4, 12, 8, true), 5);
    }

    /// RFC 9937, section 6: the first ACK allows the fast retransmission, even if the proportional share is zero. By
    /// hand: ⌈1 · 1/20⌉ = 1, ⌈1 · 0/20⌉ = 0.
    #[test]
    fn the_first_ack_allows_one_segment() {
        let mut prr = Prr::default();
        prr.start(20);
        assert_eq!(prr.cwnd(19, 0, 1, false), 20);
        prr.on_sent();
        assert_eq!(prr.cwnd(19, 0, 1, false), 19);
    }
}
