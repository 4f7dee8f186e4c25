//! A line whose rate changes at given moments. A packet under way at a change is finished at the new rate.

use cwndlab_units::{Duration, Rate, Time};

use super::timetable::{Timetable, NEVER};

/// Bits per byte times nanoseconds per second: a byte's work in units of (bit/s)·ns.
const BYTE: u128 = 8_000_000_000;

/// Rates by a timetable; a rate of 0 is an outage.
#[derive(Clone, Debug)]
pub struct Steps {
    table: Timetable,
    rates: Box<[u64]>,
    /// Work done by the start of each step, and in a whole period.
    before: Box<[u128]>,
    whole: u128,
    /// The rate is 0 in every step that comes again.
    dead: bool,
}

impl Steps {
    /// From each moment on its rate; the first moment is 0, and all of them lie before the end of the period.
    #[must_use]
    pub fn new(steps: &[(Time, Rate)], period: Option<Duration>) -> Self {
        let table = Timetable::new(steps.iter().map(|step| step.0).collect(), period);
        let rates: Box<[u64]> = steps.iter().map(|step| step.1 .0).collect();
        let (mut whole, mut before) = (0, Vec::with_capacity(steps.len()));
        for ((start, end), &rate) in table.spans().zip(&rates) {
            before.push(whole);
            whole += u128::from((end - start).0) * u128::from(rate);
        }
        let dead = period.is_some() && whole == 0;
        Self { table, rates, before: before.into(), whole, dead }
    }

    /// As [`Line::serve`](super::Line::serve).
    #[must_use]
    pub fn serve(&self, start: Time, size: u32) -> Time {
        let (mut now, mut work) = (start, u128::from(size) * BYTE);
        while now < NEVER && !self.dead {
            let (step, end) = self.table.look(now);
            let rate = u128::from(self.rates[step]);
            let possible = rate * u128::from((end - now).0);
            if possible >= work && rate > 0 {
                return now + Duration(work.div_ceil(rate) as u64);
            }
            work -= possible;
            now = end;
        }
        NEVER
    }

    /// As [`Line::offered`](super::Line::offered).
    #[must_use]
    pub fn offered(&self, now: Time) -> u64 {
        let (periods, rest) = self.table.split(now);
        let (step, _) = self.table.look(rest);
        let start = self.table.spans().nth(step).map_or(Time::ZERO, |span| span.0);
        let work = u128::from(periods) * self.whole
            + self.before[step]
            + u128::from((rest - start).0) * u128::from(self.rates[step]);
        (work / BYTE) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// By hand: 1500 bytes are 12,000 bits. 6 ms at 1 Mbit/s carry 6,000 of them, the other 6,000 take 0.6 ms at 10.
    #[test]
    fn a_packet_under_way_is_finished_at_the_new_rate() {
        let steps = Steps::new(&[(Time::ZERO, Rate(1_000_000)), (ms(10), Rate(10_000_000))], None);
        assert_eq!(steps.serve(ms(4), 1500), ms(10) + Duration::from_micros(600));
        assert_eq!(steps.serve(ms(20), 1500), ms(21) + Duration::from_micros(200));
        assert_eq!(steps.offered(ms(20)), 1250 + 12_500);
    }

    /// By hand: of every 10 ms the line rests 5; a packet of 12,000 bits at 3 Mbit/s takes 4 ms, the second stands still.
    #[test]
    fn an_outage_stops_the_packet_under_way() {
        let steps = Steps::new(&[(Time::ZERO, Rate(3_000_000)), (ms(5), Rate(0))], Some(Duration::from_millis(10)));
        assert_eq!(steps.serve(Time::ZERO, 1500), ms(4));
        assert_eq!(steps.serve(ms(4), 1500), ms(13));
        assert_eq!(steps.offered(ms(23)), 2 * 1875 + 1125);
    }

    #[test]
    fn an_outage_for_good_lets_nothing_out() {
        let steps = Steps::new(&[(Time::ZERO, Rate(1_000_000)), (ms(5), Rate(0))], None);
        assert_eq!(steps.serve(Time::ZERO, 1500), NEVER);
        assert_eq!(steps.offered(ms(70)), 625);
        assert_eq!(Steps::new(&[(Time::ZERO, Rate(0))], Some(Duration(7))).serve(Time(3), 40), NEVER);
    }
}
