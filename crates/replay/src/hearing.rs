//! What an algorithm was told in a place, event by event against the record.

use std::fmt::Debug;

use cwndlab_control::{Ack, Cause, Change, Congestion, Sent, Window};

use crate::tape::{Tape, Told};
use crate::verdict::{difference, Difference, Heard, Nature, Place};

/// Collects the first difference of each nature.
struct Collector<'a> {
    tape: &'a Tape,
    place: Place,
    minds_sends: bool,
    /// A loss, an ECN echo, an ACK above a hole: from here on TCP and QUIC see different things.
    hurt: bool,
    /// A pause, a timeout, an undo: from here on what is in flight differs, too.
    torn: bool,
    found: Vec<Difference>,
}

/// The first difference of each nature, and the first without one.
pub(crate) fn told_differently(place: Place, tape: &Tape, heard: &Heard) -> Vec<Difference> {
    let minds_sends = heard.minds_sends;
    let mut all = Collector { tape, place, minds_sends, hurt: false, torn: false, found: Vec::new() };
    let mut rest = heard.told.iter().peekable();
    let mut waiting: Vec<usize> = Vec::new();
    for (at, entry) in tape.entries.iter().enumerate() {
        let mut here = Vec::new();
        while let Some((_, told)) = rest.next_if(|(of, _)| *of == at) {
            here.push(told);
        }
        match &entry.told {
            Told::Ack(ack) => {
                all.hurt |= ack.recovering || ack.lost.0 > 0 || ack.ce.0 > 0;
                let expected = waiting.len();
                for congestion in waiting.drain(..) {
                    all.congestion(congestion, &here);
                }
                all.ack(at, ack, &here, expected);
            }
            Told::Congestion(event) => {
                all.hurt = true;
                all.torn |= event.cause == Cause::Timeout;
                if heard.joined.contains(&at) {
                    waiting.push(at);
                } else {
                    all.congestion(at, &here);
                }
            }
            Told::Window(window) => all.window(at, window, &here),
            Told::Sent(sent) => all.sent(at, sent, &here),
        }
    }
    all.found
}

impl Collector<'_> {
    fn add(&mut self, at: usize, field: &'static str, recorded: String, heard: String, nature: Option<Nature>) {
        if self.found.iter().all(|one| one.nature != nature) {
            self.found.push(difference(self.tape, at, field, recorded, heard, nature));
        }
    }

    fn same<T: PartialEq + Debug>(
        &mut self,
        at: usize,
        field: &'static str,
        recorded: &T,
        heard: &T,
        nature: Option<Nature>,
    ) {
        if recorded != heard {
            self.add(at, field, format!("{recorded:?}"), format!("{heard:?}"), nature);
        }
    }

    /// The nature that holds in QUIC where `when`.
    fn quic(&self, nature: Nature, when: bool) -> Option<Nature> {
        (self.place == Place::Quic && when).then_some(nature)
    }

    fn ack(&mut self, at: usize, ack: &Ack, here: &[&Told], congestions: usize) {
        let acks: Vec<&Ack> =
            here.iter().filter_map(|one| if let Told::Ack(ack) = one { Some(ack) } else { None }).collect();
        let Some(last) = acks.last() else {
            // What was given up is not waited for.
            let nature = self.quic(Nature::Timer, self.torn);
            self.add(at, "the ACK", "told".to_owned(), "not told".to_owned(), nature);
            return;
        };
        let (hurt, torn) = (self.hurt, self.torn);
        let acked: u64 = acks.iter().map(|one| one.acked.0).sum();
        let timer = self.quic(Nature::Timer, torn);
        self.same(at, "acked", &ack.acked.0, &acked, timer);
        self.same(at, "mss", &ack.mss, &last.mss, None);
        let numbers = self.quic(Nature::Numbers, hurt);
        self.same(at, "rtt", &ack.rtt, &last.rtt, numbers);
        self.same(at, "srtt", &ack.srtt, &last.srtt, numbers);
        self.same(at, "min_rtt", &ack.min_rtt, &last.min_rtt, numbers);
        self.same(at, "delivery_rate", &ack.delivery_rate, &last.delivery_rate, numbers);
        self.same(at, "delivered", &ack.delivered, &last.delivered, timer);
        let cumulative = self.quic(Nature::Cumulative, hurt);
        self.same(at, "round", &ack.round, &last.round, cumulative);
        // Without a cumulative acknowledgement there is no duplicate: what waits for a hole is not held back.
        let nature = if ack.recovering { cumulative } else { self.quic(Nature::Period, hurt) };
        self.same(at, "recovering", &ack.recovering, &last.recovering, nature);
        self.same(at, "ce", &ack.ce, &last.ce, self.quic(Nature::Marks, true));
        let limit = self.quic(Nature::Limit, true);
        self.same(at, "cwnd_limited", &ack.cwnd_limited, &last.cwnd_limited, limit);
        self.same(at, "app_limited", &ack.app_limited, &last.app_limited, limit);
        self.same(at, "in_flight", &ack.in_flight, &last.in_flight, timer);
        self.same(at, "prior_in_flight", &ack.prior_in_flight, &last.prior_in_flight, timer);
        let lost: u64 = acks.iter().map(|one| one.lost.0).sum();
        self.same(at, "lost", &ack.lost.0, &lost, timer);
        let more = here.iter().filter(|one| matches!(one, Told::Congestion(_))).count();
        if more > congestions {
            let nature = self.quic(Nature::Period, hurt);
            self.add(at, "congestion", "not told".to_owned(), "told".to_owned(), nature);
        }
    }

    fn congestion(&mut self, at: usize, here: &[&Told]) {
        let Told::Congestion(event) = &self.tape.entries[at].told else { return };
        let found = here.iter().find_map(|one| if let Told::Congestion(event) = one { Some(event) } else { None });
        let Some(found) = found else {
            let nature = if event.cause == Cause::Timeout { Nature::Timer } else { Nature::Period };
            self.add(at, "congestion", "told".to_owned(), "not told".to_owned(), self.quic(nature, true));
            return;
        };
        let Congestion { cause, restart, repeated, in_flight, lost, srtt, min_rtt, round, .. } = event;
        self.same(at, "cause", cause, &found.cause, None);
        self.same(at, "restart", restart, &found.restart, None);
        let timer = self.quic(Nature::Timer, self.torn);
        self.same(at, "repeated", repeated, &found.repeated, timer);
        self.same(at, "in_flight", in_flight, &found.in_flight, timer);
        self.same(at, "lost", lost, &found.lost, timer);
        let numbers = self.quic(Nature::Numbers, true);
        self.same(at, "srtt", srtt, &found.srtt, numbers);
        self.same(at, "min_rtt", min_rtt, &found.min_rtt, numbers);
        let cumulative = self.quic(Nature::Cumulative, true);
        self.same(at, "round", round, &found.round, cumulative);
    }

    fn window(&mut self, at: usize, window: &Window, here: &[&Told]) {
        self.torn |= matches!(window.change, Change::Undo | Change::Idle);
        let found = here.iter().find_map(|one| match one {
            Told::Window(found) if found.change == window.change => Some(found),
            _ => None,
        });
        // A model-based algorithm hears of a pause by the segment that leaves after it.
        let woken = here.iter().any(|one| matches!(one, Told::Sent(_)));
        let Some(found) = found else {
            let nature = match window.change {
                Change::Idle => Nature::Idle,
                Change::Undo => Nature::Undo,
                Change::Recovered => Nature::Period,
                Change::Established => {
                    return self.add(at, "the window", "told".to_owned(), "not told".to_owned(), None)
                }
            };
            if !(woken && window.change == Change::Idle) {
                self.add(at, "the window", "told".to_owned(), "not told".to_owned(), self.quic(nature, true));
            }
            return;
        };
        self.same(at, "rtt", &window.rtt, &found.rtt, None);
        self.same(at, "idle", &window.idle, &found.idle, None);
    }

    fn sent(&mut self, at: usize, sent: &Sent, here: &[&Told]) {
        let Some(found) = here.iter().find_map(|one| if let Told::Sent(found) = one { Some(found) } else { None })
        else {
            if self.minds_sends {
                self.add(at, "a segment that leaves", "told".to_owned(), "not told".to_owned(), Some(Nature::Sends));
            }
            return;
        };
        self.same(at, "size", &sent.size, &found.size, None);
        let timer = self.quic(Nature::Timer, self.torn);
        self.same(at, "in_flight", &sent.in_flight, &found.in_flight, timer);
        let numbers = self.quic(Nature::Numbers, true);
        self.same(at, "retransmission", &sent.retransmission, &found.retransmission, numbers);
        let limit = self.quic(Nature::Limit, true);
        self.same(at, "app_limited", &sent.app_limited, &found.app_limited, limit);
    }
}
