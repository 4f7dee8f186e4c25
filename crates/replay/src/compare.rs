//! Compares the events that reached an algorithm in a backend with the record.

use std::fmt::Debug;

use cwndlab_control::{Ack, Cause, Change, Congestion, Sent, Window};

use crate::backend::{Backend, Replayed};
use crate::difference::{difference, Difference, KnownDifference};
use crate::event_log::{EventLog, Reported};

/// Collects the first difference of each kind.
struct Collector<'a> {
    log: &'a EventLog,
    backend: Backend,
    depends_on_sends: bool,
    /// A loss, an ECN echo, an ACK above a hole: from here on TCP and QUIC see different things.
    hurt: bool,
    /// A pause, a timeout, an undo: from here on what is in flight differs, too.
    torn: bool,
    found: Vec<Difference>,
}

/// The first difference of each known kind, and the first unknown one.
pub(crate) fn differences(backend: Backend, log: &EventLog, replayed: &Replayed) -> Vec<Difference> {
    let depends_on_sends = replayed.depends_on_sends;
    let mut all = Collector { log, backend, depends_on_sends, hurt: false, torn: false, found: Vec::new() };
    let mut rest = replayed.told.iter().peekable();
    let mut waiting: Vec<usize> = Vec::new();
    for (at, entry) in log.entries.iter().enumerate() {
        let mut here = Vec::new();
        while let Some((_, told)) = rest.next_if(|(of, _)| *of == at) {
            here.push(told);
        }
        match &entry.told {
            Reported::Ack(ack) => {
                all.hurt |= ack.recovering || ack.lost.0 > 0 || ack.ce.0 > 0;
                let expected = waiting.len();
                for congestion in waiting.drain(..) {
                    all.congestion(congestion, &here);
                }
                all.ack(at, ack, &here, expected);
            }
            Reported::Congestion(event) => {
                all.hurt = true;
                all.torn |= event.cause == Cause::Timeout;
                if replayed.joined.contains(&at) {
                    waiting.push(at);
                } else {
                    all.congestion(at, &here);
                }
            }
            Reported::Window(window) => all.window(at, window, &here),
            Reported::Sent(sent) => all.sent(at, sent, &here),
        }
    }
    all.found
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
        if self.found.iter().all(|one| one.known != known) {
            self.found.push(difference(self.log, at, field, recorded, replayed, known));
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

    /// The known difference that holds in QUIC where `when`.
    fn quic(&self, known: KnownDifference, when: bool) -> Option<KnownDifference> {
        (self.backend == Backend::Quic && when).then_some(known)
    }

    fn ack(&mut self, at: usize, ack: &Ack, here: &[&Reported], congestions: usize) {
        let acks: Vec<&Ack> =
            here.iter().filter_map(|one| if let Reported::Ack(ack) = one { Some(ack) } else { None }).collect();
        let Some(last) = acks.last() else {
            // What was given up is not waited for.
            let known = self.quic(KnownDifference::Timer, self.torn);
            self.add(at, "the ACK", "told".to_owned(), "not told".to_owned(), known);
            return;
        };
        let (hurt, torn) = (self.hurt, self.torn);
        let acked: u64 = acks.iter().map(|one| one.acked.0).sum();
        let timer = self.quic(KnownDifference::Timer, torn);
        self.same(at, "acked", &ack.acked.0, &acked, timer);
        self.same(at, "mss", &ack.mss, &last.mss, None);
        let numbers = self.quic(KnownDifference::Numbers, hurt);
        self.same(at, "rtt", &ack.rtt, &last.rtt, numbers);
        self.same(at, "srtt", &ack.srtt, &last.srtt, numbers);
        self.same(at, "min_rtt", &ack.min_rtt, &last.min_rtt, numbers);
        self.same(at, "delivery_rate", &ack.delivery_rate, &last.delivery_rate, numbers);
        self.same(at, "delivered", &ack.delivered, &last.delivered, timer);
        let cumulative = self.quic(KnownDifference::Cumulative, hurt);
        self.same(at, "round", &ack.round, &last.round, cumulative);
        // Without a cumulative acknowledgement there is no duplicate: what waits for a hole is not held back.
        let known = if ack.recovering { cumulative } else { self.quic(KnownDifference::Period, hurt) };
        self.same(at, "recovering", &ack.recovering, &last.recovering, known);
        self.same(at, "ce", &ack.ce, &last.ce, self.quic(KnownDifference::Marks, true));
        let limit = self.quic(KnownDifference::Limit, true);
        self.same(at, "cwnd_limited", &ack.cwnd_limited, &last.cwnd_limited, limit);
        self.same(at, "app_limited", &ack.app_limited, &last.app_limited, limit);
        self.same(at, "in_flight", &ack.in_flight, &last.in_flight, timer);
        self.same(at, "prior_in_flight", &ack.prior_in_flight, &last.prior_in_flight, timer);
        let lost: u64 = acks.iter().map(|one| one.lost.0).sum();
        self.same(at, "lost", &ack.lost.0, &lost, timer);
        let more = here.iter().filter(|one| matches!(one, Reported::Congestion(_))).count();
        if more > congestions {
            let known = self.quic(KnownDifference::Period, hurt);
            self.add(at, "congestion", "not told".to_owned(), "told".to_owned(), known);
        }
    }

    fn congestion(&mut self, at: usize, here: &[&Reported]) {
        let Reported::Congestion(event) = &self.log.entries[at].told else { return };
        let found = here.iter().find_map(|one| if let Reported::Congestion(event) = one { Some(event) } else { None });
        let Some(found) = found else {
            let known = if event.cause == Cause::Timeout { KnownDifference::Timer } else { KnownDifference::Period };
            self.add(at, "congestion", "told".to_owned(), "not told".to_owned(), self.quic(known, true));
            return;
        };
        let Congestion { cause, restart, repeated, in_flight, lost, srtt, min_rtt, round, .. } = event;
        self.same(at, "cause", cause, &found.cause, None);
        self.same(at, "restart", restart, &found.restart, None);
        let timer = self.quic(KnownDifference::Timer, self.torn);
        self.same(at, "repeated", repeated, &found.repeated, timer);
        self.same(at, "in_flight", in_flight, &found.in_flight, timer);
        self.same(at, "lost", lost, &found.lost, timer);
        let numbers = self.quic(KnownDifference::Numbers, true);
        self.same(at, "srtt", srtt, &found.srtt, numbers);
        self.same(at, "min_rtt", min_rtt, &found.min_rtt, numbers);
        let cumulative = self.quic(KnownDifference::Cumulative, true);
        self.same(at, "round", round, &found.round, cumulative);
    }

    fn window(&mut self, at: usize, window: &Window, here: &[&Reported]) {
        self.torn |= matches!(window.change, Change::Undo | Change::Idle);
        let found = here.iter().find_map(|one| match one {
            Reported::Window(found) if found.change == window.change => Some(found),
            _ => None,
        });
        // A model-based algorithm hears of a pause by the segment that leaves after it.
        let woken = here.iter().any(|one| matches!(one, Reported::Sent(_)));
        let Some(found) = found else {
            let known = match window.change {
                Change::Idle => KnownDifference::Idle,
                Change::Undo => KnownDifference::Undo,
                Change::Recovered => KnownDifference::Period,
                Change::Established => {
                    return self.add(at, "the window", "told".to_owned(), "not told".to_owned(), None)
                }
            };
            if !(woken && window.change == Change::Idle) {
                self.add(at, "the window", "told".to_owned(), "not told".to_owned(), self.quic(known, true));
            }
            return;
        };
        self.same(at, "rtt", &window.rtt, &found.rtt, None);
        self.same(at, "idle", &window.idle, &found.idle, None);
    }

    fn sent(&mut self, at: usize, sent: &Sent, here: &[&Reported]) {
        let Some(found) = here.iter().find_map(|one| if let Reported::Sent(found) = one { Some(found) } else { None })
        else {
            if self.depends_on_sends {
                self.add(
                    at,
                    "a segment that leaves",
                    "told".to_owned(),
                    "not told".to_owned(),
                    Some(KnownDifference::Sends),
                );
            }
            return;
        };
        self.same(at, "size", &sent.size, &found.size, None);
        let timer = self.quic(KnownDifference::Timer, self.torn);
        self.same(at, "in_flight", &sent.in_flight, &found.in_flight, timer);
        let numbers = self.quic(KnownDifference::Numbers, true);
        self.same(at, "retransmission", &sent.retransmission, &found.retransmission, numbers);
        let limit = self.quic(KnownDifference::Limit, true);
        self.same(at, "app_limited", &sent.app_limited, &found.app_limited, limit);
    }
}
