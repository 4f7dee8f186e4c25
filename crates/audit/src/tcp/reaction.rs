//! What a sender's remarks tell the algorithm: the handshake, congestion, the end of a recovery, an undo.

use cwndlab_control::{Cause, Change, Congestion, Report, Window};
use cwndlab_units::{Duration, Time};

use super::{window, Arrived, State, Tcp, AT_ONCE};
use crate::event::{Event, Remark, What};
use crate::item::{Moment, View};

impl Tcp {
    /// The handshake: its RTT is the first sample.
    pub(super) fn handshake(&mut self, at: &mut Moment<'_>, remark: Remark) {
        let time = at.now;
        if remark == Remark::Opened {
            self.opened = Some(time);
            return;
        }
        let rtt = self.opened.map(|opened| time - opened).filter(|rtt| *rtt > Duration::ZERO);
        if let Some(rtt) = rtt {
            self.samples.rtt.sample(time, rtt, rtt);
        }
        let window = Window { rtt, ..window(time, Change::Established, at.view.cwnd) };
        at.step(vec![vec![Report::Window(window)]]);
        self.samples.sampler.start(time);
    }

    /// The events for the algorithm that belong to a remark; `after` is the logged window after it.
    pub(super) fn reaction(&mut self, time: Time, remark: Remark, after: u64, view: &View) -> Vec<Vec<Report>> {
        let change = |change| Report::Window(window(time, change, after));
        match remark {
            Remark::Recovery | Remark::Ecn => {
                let cause = if remark == Remark::Ecn { Cause::Ecn } else { Cause::Loss };
                (self.state, self.repairs) = (State::Reducing, cause == Cause::Loss);
                self.congestion(time, cause, false, view)
            }
            Remark::Timeout => {
                // RFC 5681, section 3.1: ssthresh is constant while the timer retransmits the same segment again.
                let repeated = self.state == State::Loss && self.timed_out == Some(self.board.una());
                let mut all = self.congestion(time, Cause::Timeout, repeated, view);
                // In Linux also after a reduction that is not over (tcp_enter_loss). The window of one segment does not tell
                // them apart, and the first alternative counts.
                if self.state == State::Reducing && !self.remarks {
                    all.splice(0..0, self.congestion(time, Cause::Timeout, true, view));
                }
                self.state = State::Loss;
                self.timed_out = Some(self.board.una());
                // Linux, tcp_enter_loss: the window is one segment more than the data in flight.
                if self.remarks && after > self.samples.mss && !view.model_based {
                    for one in &mut all {
                        one.push(change(Change::Recovered));
                    }
                }
                all
            }
            Remark::Recovered => {
                self.state = State::Open;
                self.duplicates = 0;
                // RFC 6582, section 3.2, step 3: the window after recovery may be below ssthresh, by whole segments.
                let lower = self.remarks && after > 0 && after + self.samples.mss <= view.cwnd;
                if view.model_based || lower {
                    vec![vec![change(Change::Recovered)]]
                } else {
                    vec![]
                }
            }
            Remark::Undo => {
                self.unmark_lost();
                self.state = State::Open;
                vec![vec![change(Change::Undo)]]
            }
            Remark::Opened | Remark::Established => vec![],
        }
    }

    /// Before all data of a reduction is acknowledged, its undo takes the marks of losses back (Linux, tcp_try_undo_partial and
    /// tcp_try_undo_loss).
    fn unmark_lost(&mut self) {
        if self.state == State::Loss || self.board.una() < self.high {
            self.board.unmark_lost();
        }
    }

    /// FlightSize without the segments sent by limited transmit, which are beyond the window of whole segments (RFC 5681,
    /// section 3.2, step 2). Without SACK they are as many as duplicate ACKs reported, or as were sent after the first.
    fn flight_at_congestion(&self, cwnd: u64) -> u64 {
        let mss = self.samples.mss.max(1);
        let beyond = self.board.flight().saturating_sub(cwnd / mss * mss);
        let sent = self.duplicates.saturating_sub(1).max(u64::from(self.reported.delivered()) * mss);
        self.board.flight() - (self.board.sacked() + sent).min(beyond)
    }

    /// RFC 5681 and RFC 9438 (section 4.6) reduce FlightSize; RFC 9438 permits the window, which Linux reduces. It is less
    /// than FlightSize where a second loss follows a reduction.
    fn congestion(&self, now: Time, cause: Cause, repeated: bool, view: &View) -> Vec<Vec<Report>> {
        let flight = self.flight_at_congestion(view.cwnd);
        let mut sizes = vec![flight, view.cwnd];
        sizes.dedup();
        let report = |size| Congestion { repeated, ..self.samples.congestion(now, cause, size, 0) };
        sizes.into_iter().map(|size| vec![Report::Congestion(report(size))]).collect()
    }

    /// The reduction that the ACK among `events` starts and the log does not name: a retransmission follows at once, or the
    /// next new data has CWR after an ECN-Echo (RFC 3168, section 6.1.2).
    pub(super) fn begins_reduction(&self, events: &[Event], following: &[Event]) -> Option<Remark> {
        if self.remarks || self.state != State::Open || self.board.is_empty() {
            return None;
        }
        let is_ack = |one: &&Event| matches!(one.what, What::TcpAck { .. });
        let until = events[0].time + AT_ONCE;
        let at_once = following.iter().take_while(|one| one.time <= until);
        let mut sent = events.iter().chain(at_once.take_while(|one| !is_ack(one)));
        let again = |one: &Event| matches!(one.what, What::Segment { seq, .. } if seq >= self.board.una() && seq < self.board.next());
        if sent.any(again) {
            return Some(Remark::Recovery);
        }
        let echoes = events.iter().any(|one| matches!(one.what, What::TcpAck { ece: true, .. }));
        let mut sent = events.iter().chain(following).filter_map(|one| match one.what {
            What::Segment { seq, cwr, .. } if seq >= self.board.next() => Some(cwr),
            _ => None,
        });
        (echoes && sent.next() == Some(true)).then_some(Remark::Ecn)
    }

    /// A spurious reduction is undone, where the sender does that: RFC 3708 and RFC 4015 permit it. While data that was
    /// sent again is outstanding, Linux waits (tcp_try_undo_partial).
    pub(super) fn undo(&mut self, at: &mut Moment<'_>, arrived: &Arrived<'_>, una: u64) -> bool {
        self.retransmissions.duplicated(arrived.duplicated().div_ceil(self.samples.mss));
        let original = arrived.ack > una && self.retransmissions.original_arrived(arrived.echo);
        let waits = self.state == State::Reducing && arrived.ack < self.high && self.board.outstanding() > 0;
        if !self.retransmissions.all_spurious() && (!original || waits) {
            return false;
        }
        self.reordering.observe(una, self.board.fack(), self.samples.mss);
        self.retransmissions.undone();
        self.unmark_lost();
        self.state = State::Open;
        self.duplicates = 0;
        let undone = vec![Report::Window(window(at.now, Change::Undo, at.view.cwnd))];
        at.step(vec![undone, Vec::new()]);
        true
    }
}
