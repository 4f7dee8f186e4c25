//! Packets from endpoints to shared links in the order of their arrival, and from there to endpoints ([`crate::calendar`]).

use cwndlab_units::Time;

use super::Network;
use crate::calendar::{Approach, Bundle, Calendar};
use crate::division::Division;
use crate::packet::Packet;
use crate::ties::Ties;

impl Network {
    /// Hands packets over to their endpoints before the last links of their routes, where no other route crosses these:
    /// packets that [`advance`](Self::advance) and [`take_early`](Self::take_early) return have to cross them
    /// ([`finish_route`](Self::finish_route)).
    pub fn leave_routes_early(&mut self, division: &Division) {
        for (flow, arriving) in division.arriving_links.enumerate() {
            for (direction, links) in arriving.iter().enumerate().filter(|one| !one.1.is_empty()) {
                self.routes.leave_before(flow.into(), direction, links.len());
            }
        }
    }

    /// Sorts the packets of endpoints on their way to the shared links of this division by time.
    pub fn sort_arrivals(&mut self, division: &Division) {
        self.wires.approach = Approach::Calendar(Box::new(Calendar::new(division.leaving)));
        self.sort_departures(division);
    }

    /// Keeps the packets of endpoints, instead of sending them to the shared links of this division.
    pub(crate) fn keep_departures(&mut self, division: &Division) {
        self.wires.approach = Approach::Elsewhere(Bundle::default());
        self.sort_departures(division);
    }

    fn sort_departures(&mut self, division: &Division) {
        for (flow, leaving) in division.leaving_links.enumerate() {
            for (direction, links) in leaving.iter().enumerate() {
                self.routes.enter_calendar(flow.into(), direction, links.len());
            }
        }
    }

    /// Sends a packet that a shared link has handed over on to its endpoint; returns whether it arrives there, at
    /// `packet.at`, before the end of the run.
    #[inline]
    pub fn finish_route(&mut self, packet: &mut Packet) -> bool {
        if Self::has_arrived(packet) {
            self.set_source(packet);
            return true;
        }
        self.advance(packet.at, packet)
    }

    /// Asks for the place of a packet's route, and of that of the answers to it.
    #[inline]
    pub fn prefetch_route(&self, packet: &Packet) {
        self.routes.prefetch_first(packet.connection());
    }

    /// Asks for the rest of a packet's route, and for the first hop of the answers.
    #[inline]
    pub fn prefetch_hops(&self, packet: &Packet) {
        self.routes.prefetch(self.routes.index(packet));
        self.routes.prefetch(self.routes.index_of_answer(packet));
    }

    /// Asks for the next link of a packet, and for the first one of the answers.
    #[inline]
    pub fn prefetch_links(&self, packet: &Packet) {
        if !Self::has_arrived(packet) {
            self.links[self.routes.hop(self.routes.index(packet)).link].prefetch();
        }
        self.links[self.routes.hop(self.routes.index_of_answer(packet)).link].prefetch();
    }

    /// Sets the link that a packet has crossed last as the source of the event.
    pub fn set_source(&mut self, packet: &Packet) {
        self.events.source = self.routes.last_crossed(packet).link.into();
    }

    /// No sorted packet arrives before this time.
    #[inline]
    #[must_use]
    pub fn next_sorted(&self) -> Time {
        self.wires.approach.calendar().map_or(Time::MAX, Calendar::next_time)
    }

    /// Makes the next sorted packets ready, if those before them have arrived.
    #[inline]
    pub fn begin_day(&mut self) -> bool {
        let Some(calendar) = self.wires.approach.calendar_mut().filter(|calendar| calendar.is_over()) else {
            return false;
        };
        calendar.begin_day(|hop| self.routes.link_before(hop as usize));
        true
    }

    /// Whether the next arrival, at `now`, is that of a sorted packet; one is ready.
    #[inline]
    #[must_use]
    pub fn is_next_sorted(&self, now: Time) -> bool {
        self.next_sorted() == now && (self.wires.next_time() > now || self.precedes_wires(now))
    }

    /// Whether the next sorted packet arrives before the one on a wire that arrives at the same time.
    #[cold]
    fn precedes_wires(&self, now: Time) -> bool {
        let Some(hop) = self.wires.approach.calendar().and_then(Calendar::next_hop) else { return false };
        // Of the packets of one link the sorted ones were sent first: the others came when their day had begun.
        Ties::of_link(now, self.routes.link_before(hop as usize)) <= Ties::of_link(now, self.wires.next_link())
    }

    /// Removes the next sorted packet and sends it over the link that it has reached; returns whether it reaches its endpoint
    /// or the last links of its route ahead of the clock.
    #[allow(clippy::inline_always)] // part of the engine's loop
    #[inline(always)]
    pub fn advance_sorted(&mut self, now: Time, packet: &mut Packet) -> bool {
        let Some(calendar) = self.wires.approach.calendar_mut() else { return false };
        if let Some(hop) = calendar.later_hop() {
            self.routes.prefetch(hop as usize);
        }
        let index = calendar.take(packet);
        self.events.source = self.routes.link_before(index).into();
        self.cross_links::<false>(now, index, packet)
    }

    /// Adds a packet of an endpoint that reaches the hop `index` to the calendar, to those for another part, or to its wire.
    #[inline]
    pub(crate) fn approach(&mut self, index: usize, packet: &Packet) {
        let is_taken = match &mut self.wires.approach {
            Approach::Calendar(calendar) => calendar.add(index, packet),
            Approach::Elsewhere(kept) => {
                kept.push(index, packet);
                true
            }
            Approach::Wires => false,
        };
        if !is_taken {
            *self.wires.add(self.routes.link_before(index), packet.at) = *packet;
        }
    }

    /// Ends the sorting: packets that have not arrived are on the wires of their links.
    pub fn stop_sorting(&mut self) {
        let Approach::Calendar(mut calendar) = std::mem::take(&mut self.wires.approach) else { return };
        calendar.drain(|hop, packet| *self.wires.add(self.routes.link_before(hop as usize), packet.at) = packet);
    }
}
