//! Comparison of the events that an algorithm received in a backend with the record.

use std::fmt::Debug;

use cwndlab_control::{Ack, Cause, Change, Congestion, DeliveryRate, Report, Sent, Window};

use crate::backend::{Backend, Replayed};
use crate::difference::{difference, Difference, KnownDifference};
use crate::event_log::EventLog;

/// Collects the first difference of each kind of [`KnownDifference`].
struct Collector<'a> {
    log: &'a EventLog,
    backend: Backend,
    depends_on_sends: bool,
    /// A loss, an ECN echo or an ACK above a hole has occurred; from then on events of TCP and QUIC differ.
    after_loss: bool,
    /// A pause, a timeout or an undo has occurred; from then on the bytes in flight differ as well.
    after_interruption: bool,
    /// A copy was sent that is not in flight over TCP (Linux, tcp_send_loss_probe).
    after_copy: bool,
    differences: Vec<Difference>,
}

/// The first difference of each known kind, and the first unexpected one.
pub(crate) fn differences(backend: Backend, log: &EventLog, replayed: &Replayed) -> Vec<Difference> {
    let depends_on_sends = replayed.depends_on_sends;
    let mut all = Collector {
        log,
        backend,
        depends_on_sends,
        after_loss: false,
        after_interruption: false,
        after_copy: false,
        differences: Vec::new(),
    };
    let mut rest = replayed.events.iter().peekable();
    let mut waiting: Vec<usize> = Vec::new();
    for (at, entry) in log.entries.iter().enumerate() {
        let mut here = Vec::new();
        while let Some((_, event)) = rest.next_if(|(of, _)| *of == at) {
            here.push(event);
        }
        match &entry.event {
            Report::Ack(ack) => {
                all.after_loss |= ack.recovering || ack.lost.0 > 0 || ack.ce.0 > 0;
                let expected = waiting.len();
                for congestion in waiting.drain(..) {
                    all.congestion(congestion, &here);
                }
                all.ack(at, ack, &here, expected);
            }
            Report::Congestion(event) => {
                all.after_loss = true;
                all.after_interruption |= event.cause == Cause::Timeout;
                if replayed.joined.contains(&at) {
                    waiting.push(at);
                } else {
                    all.congestion(at, &here);
                }
            }
            Report::Window(window) => all.window(at, window, &here),
            Report::Sent(sent) => all.sent(at, sent, &here),
        }
    }
    all.differences
}

impl Collector<'_> {
    fn add(
        &mut self,
        at: usize,
        field: &'static str,
        recorded: String,
        replayed: String,
        known: Option<KnownDifference>,
    ) {
        if self.differences.iter().all(|one| one.known != known) {
            self.differences.push(difference(self.log, at, field, recorded, replayed, known));
        }
    }

    fn same<T: PartialEq + Debug>(
        &mut self,
        at: usize,
        field: &'static str,
        recorded: &T,
        replayed: &T,
        known: Option<KnownDifference>,
    ) {
        if recorded != replayed {
            self.add(at, field, format!("{recorded:?}"), format!("{replayed:?}"), known);
        }
    }

    /// `known` if the backend is QUIC and `when` holds.
    fn quic(&self, known: KnownDifference, when: bool) -> Option<KnownDifference> {
        (self.backend == Backend::Quic && when).then_some(known)
    }

    fn ack(&mut self, at: usize, ack: &Ack, here: &[&Report], congestions: usize) {
        let acks: Vec<&Ack> =
            here.iter().filter_map(|one| if let Report::Ack(ack) = one { Some(ack) } else { None }).collect();
        let Some(last) = acks.last() else {
            // Packets declared lost are not acknowledged.
            let known = self.quic(KnownDifference::Timeout, self.after_interruption);
            self.add(at, "the ACK", "reported".to_owned(), "not reported".to_owned(), known);
            return;
        };
        let after_loss = self.after_loss;
        let after_interruption = self.after_interruption;
        let acked: u64 = acks.iter().map(|one| one.acked.0).sum();
        let timer = self.quic(KnownDifference::Timeout, after_interruption);
        self.same(at, "acked", &ack.acked.0, &acked, timer);
        self.same(at, "mss", &ack.mss, &last.mss, None);
        let numbers = self.quic(KnownDifference::PacketNumbers, after_loss);
        self.same(at, "rtt", &ack.rtt, &last.rtt, numbers);
        self.same(at, "srtt", &ack.srtt, &last.srtt, numbers);
        self.same(at, "min_rtt", &ack.min_rtt, &last.min_rtt, numbers);
        // A sample is application-limited by the state at its sending.
        let flagged = |rate: &DeliveryRate| DeliveryRate { app_limited: true, ..*rate };
        let only_flag = ack.delivery_rate.as_ref().map(flagged) == last.delivery_rate.as_ref().map(flagged);
        let known = numbers.or(self.quic(KnownDifference::WindowLimit, only_flag));
        self.same(at, "delivery_rate", &ack.delivery_rate, &last.delivery_rate, known);
        self.same(at, "delivered", &ack.delivered, &last.delivered, timer);
        let cumulative = self.quic(KnownDifference::CumulativeAck, after_loss);
        self.same(at, "round", &ack.round, &last.round, cumulative);
        // Without cumulative acknowledgements there are no duplicate ACKs: data above a hole are acknowledged
        // immediately.
        let known = if ack.recovering { cumulative } else { self.quic(KnownDifference::RecoveryPeriod, after_loss) };
        self.same(at, "recovering", &ack.recovering, &last.recovering, known);
        self.same(at, "ce", &ack.ce, &last.ce, self.quic(KnownDifference::MarkCount, true));
        let limit = self.quic(KnownDifference::WindowLimit, true);
        self.same(at, "cwnd_limited", &ack.cwnd_limited, &last.cwnd_limited, limit);
        self.same(at, "app_limited", &ack.app_limited, &last.app_limited, limit);
        let flight = timer.or(self.quic(KnownDifference::PacketNumbers, self.after_copy));
        self.same(at, "in_flight", &ack.in_flight, &last.in_flight, flight);
        self.same(at, "prior_in_flight", &ack.prior_in_flight, &last.prior_in_flight, flight);
        let lost: u64 = acks.iter().map(|one| one.lost.0).sum();
        self.same(at, "lost", &ack.lost.0, &lost, timer);
        let more = here.iter().filter(|one| matches!(one, Report::Congestion(_))).count();
        if more > congestions {
            let known = self.quic(KnownDifference::RecoveryPeriod, after_loss);
            self.add(at, "congestion", "not reported".to_owned(), "reported".to_owned(), known);
        }
    }

    fn congestion(&mut self, at: usize, here: &[&Report]) {
        let Report::Congestion(event) = &self.log.entries[at].event else { return };
        let replayed = here.iter().find_map(|one| if let Report::Congestion(event) = one { Some(event) } else { None });
        let Some(replayed) = replayed else {
            let known =
                if event.cause == Cause::Timeout { KnownDifference::Timeout } else { KnownDifference::RecoveryPeriod };
            self.add(at, "congestion", "reported".to_owned(), "not reported".to_owned(), self.quic(known, true));
            return;
        };
        let Congestion { cause, restart, repeated, in_flight, lost, srtt, min_rtt, round, .. } = event;
        self.same(at, "cause", cause, &replayed.cause, None);
        self.same(at, "restart", restart, &replayed.restart, None);
        let timer = self.quic(KnownDifference::Timeout, self.after_interruption);
        self.same(at, "repeated", repeated, &replayed.repeated, timer);
        // FlightSize of RFC 5681 counts SACKed data; packets acknowledged over QUIC are not in flight.
        let flight = timer.or(self.quic(KnownDifference::CumulativeAck, true));
        self.same(at, "in_flight", in_flight, &replayed.in_flight, flight);
        self.same(at, "lost", lost, &replayed.lost, timer);
        let numbers = self.quic(KnownDifference::PacketNumbers, true);
        self.same(at, "srtt", srtt, &replayed.srtt, numbers);
        self.same(at, "min_rtt", min_rtt, &replayed.min_rtt, numbers);
        let cumulative = self.quic(KnownDifference::CumulativeAck, true);
        self.same(at, "round", round, &replayed.round, cumulative);
    }

    fn window(&mut self, at: usize, window: &Window, here: &[&Report]) {
        self.after_interruption |= matches!(window.change, Change::Undo | Change::Idle);
        let replayed = here.iter().find_map(|one| match one {
            Report::Window(replayed) if replayed.change == window.change => Some(replayed),
            _ => None,
        });
        // A model-based algorithm detects a pause by the next segment sent.
        let resumed = here.iter().any(|one| matches!(one, Report::Sent(_)));
        let Some(replayed) = replayed else {
            let known = match window.change {
                Change::Idle => KnownDifference::IdlePeriod,
                Change::Undo => KnownDifference::Undo,
                Change::Recovered => KnownDifference::RecoveryPeriod,
                Change::Established => {
                    return self.add(at, "the window", "reported".to_owned(), "not reported".to_owned(), None)
                }
            };
            if !(resumed && window.change == Change::Idle) {
                self.add(at, "the window", "reported".to_owned(), "not reported".to_owned(), self.quic(known, true));
            }
            return;
        };
        if window.change == Change::Established {
            self.same(at, "cwnd", &window.cwnd, &replayed.cwnd, None);
        }
        self.same(at, "rtt", &window.rtt, &replayed.rtt, None);
        self.same(at, "idle", &window.idle, &replayed.idle, None);
    }

    fn sent(&mut self, at: usize, sent: &Sent, here: &[&Report]) {
        let Some(replayed) =
            here.iter().find_map(|one| if let Report::Sent(replayed) = one { Some(replayed) } else { None })
        else {
            if self.depends_on_sends {
                self.add(
                    at,
                    "a sent segment",
                    "reported".to_owned(),
                    "not reported".to_owned(),
                    Some(KnownDifference::SentSegments),
                );
            }
            return;
        };
        self.same(at, "size", &sent.size, &replayed.size, None);
        let timer = self.quic(KnownDifference::Timeout, self.after_interruption);
        let numbers = self.quic(KnownDifference::PacketNumbers, true);
        self.after_copy |= sent.retransmission && sent.in_flight != replayed.in_flight;
        let flight = timer.or(numbers.filter(|_| self.after_copy));
        self.same(at, "in_flight", &sent.in_flight, &replayed.in_flight, flight);
        self.same(at, "retransmission", &sent.retransmission, &replayed.retransmission, numbers);
        let limit = self.quic(KnownDifference::WindowLimit, true);
        self.same(at, "app_limited", &sent.app_limited, &replayed.app_limited, limit);
    }
}
