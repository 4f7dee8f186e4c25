//! A line whose rate changes at given times. The rest of a packet in service at a change is sent at the new rate.

use cwndlab_units::{Duration, Rate, Time};

use super::timetable::{Timetable, NEVER};

/// Bits per byte times nanoseconds per second: the work of one byte in (bit/s)·ns.
const BYTE: u128 = 8_000_000_000;

/// A schedule of rates; a rate of 0 is an outage.
#[derive(Clone, Debug)]
pub struct RateSteps {
    table: Timetable,
    rates: Box<[u64]>,
    /// Work done before the start of each step of the first period, in (bit/s)·ns.
    before: Box<[u128]>,
    /// Work done in one period, in (bit/s)·ns.
    per_period: u128,
    /// The rate is 0 in every repeated step.
    dead: bool,
    /// The last departure, and the work that the line could have done between the exact departure and that nanosecond,
    /// in (bit/s)·ns.
    last: (Time, u64),
}

impl RateSteps {
    /// Each rate applies from its time on. The first time is 0, and all times precede the end of the period.
    #[must_use]
    pub fn new(steps: &[(Time, Rate)], period: Option<Duration>) -> Self {
        let table = Timetable::new(steps.iter().map(|step| step.0).collect(), period);
        let rates: Box<[u64]> = steps.iter().map(|step| step.1 .0).collect();
        let mut per_period = 0;
        let mut before = Vec::with_capacity(steps.len());
        for ((start, end), &rate) in table.spans().zip(&rates) {
            before.push(per_period);
            per_period += u128::from((end - start).as_nanos()) * u128::from(rate);
        }
        let dead = period.is_some() && per_period == 0;
        Self { table, rates, before: before.into(), per_period, dead, last: (Time::ZERO, 0) }
    }

    /// As [`Line::serve`](super::Line::serve).
    #[must_use]
    pub fn serve(&mut self, start: Time, size: u32) -> Time {
        let mut now = start;
        let mut work = u128::from(size) * BYTE;
        if start == self.last.0 {
            // The line is busy, and service began at the exact departure.
            let done = u128::from(self.last.1).min(work);
            work -= done;
            self.last.1 -= done as u64;
            if work == 0 {
                return start;
            }
        }
        while now < NEVER && !self.dead {
            let (step, end) = self.table.step_at(now);
            let rate = u128::from(self.rates[step]);
            let possible = rate * u128::from((end - now).as_nanos());
            if possible >= work && rate > 0 {
                let time = work.div_ceil(rate);
                self.last = (now + Duration::from_nanos(time as u64), (time * rate - work) as u64);
                return self.last.0;
            }
            work -= possible;
            now = end;
        }
        NEVER
    }

    /// The rate at `now`.
    #[must_use]
    pub fn rate_at(&self, now: Time) -> Rate {
        Rate(self.rates[self.table.step_at(now).0])
    }

    /// As [`Line::offered`](super::Line::offered).
    #[must_use]
    pub fn offered(&self, now: Time) -> u64 {
        let (periods, rest) = self.table.split(now);
        let (step, _) = self.table.step_at(rest);
        let start = self.table.spans().nth(step).map_or(Time::ZERO, |span| span.0);
        let work = u128::from(periods) * self.per_period
            + self.before[step]
            + u128::from((rest - start).as_nanos()) * u128::from(self.rates[step]);
        (work / BYTE) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    /// By hand: 1500 bytes are 12,000 bits. 6 ms at 1 Mbit/s carry 6,000 of them, the other 6,000 take 0.6 ms at 10.
    #[test]
    fn the_rest_of_a_packet_is_sent_at_the_new_rate() {
        let mut steps = RateSteps::new(&[(Time::ZERO, Rate(1_000_000)), (ms(10), Rate(10_000_000))], None);
        assert_eq!(steps.serve(ms(4), 1500), ms(10) + Duration::from_micros(600));
        assert_eq!(steps.serve(ms(20), 1500), ms(21) + Duration::from_micros(200));
        assert_eq!(steps.offered(ms(20)), 1250 + 12_500);
    }

    /// By hand: an outage of 5 ms in every 10 ms. A packet of 12,000 bits at 3 Mbit/s takes 4 ms; the second one is
    /// interrupted.
    #[test]
    fn an_outage_interrupts_the_packet_in_service() {
        let mut steps =
            RateSteps::new(&[(Time::ZERO, Rate(3_000_000)), (ms(5), Rate(0))], Some(Duration::from_millis(10)));
        assert_eq!(steps.serve(Time::ZERO, 1500), ms(4));
        assert_eq!(steps.serve(ms(4), 1500), ms(13));
        assert_eq!(steps.offered(ms(23)), 2 * 1875 + 1125);
        assert_eq!([4, 5, 12, 19].map(|at| steps.rate_at(ms(at)).0), [3_000_000, 0, 3_000_000, 0]);
    }

    #[test]
    fn no_packet_departs_in_a_permanent_outage() {
        let mut steps = RateSteps::new(&[(Time::ZERO, Rate(1_000_000)), (ms(5), Rate(0))], None);
        assert_eq!(steps.serve(Time::ZERO, 1500), NEVER);
        assert_eq!(steps.offered(ms(70)), 625);
        assert_eq!(
            RateSteps::new(&[(Time::ZERO, Rate(0))], Some(Duration::from_nanos(7))).serve(Time::from_nanos(3), 40),
            NEVER
        );
    }
}
