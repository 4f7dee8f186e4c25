//! When a timer of Linux expires: at a tick, never early. The wheel keeps timers in levels of 64 buckets each, whose width
//! grows eightfold from level to level, and rounds each expiry up to the next bucket (Linux, kernel/time/timer.c,
//! `calc_wheel_index` and `calc_index`).

use cwndlab_units::{Duration, Time};

/// Buckets of a level (`LVL_SIZE`).
const BUCKETS: u64 = 64;
/// The width of a bucket doubles this often from level to level (`LVL_CLK_SHIFT`).
const SHIFT: u32 = 3;
/// The highest level with HZ above 100 (`LVL_DEPTH` - 1).
const HIGHEST: u32 = 8;

/// Whether a timer that is due waits for a tick, which becomes its expiry. Most timers are restarted before they are due,
/// so that only then it is asked which tick that is. `armed` is when it was started, and `Time::MAX` from then on.
#[cold]
pub(crate) fn waits_for_tick(now: Time, armed: &mut Time, due: &mut Time, tick: Duration) -> bool {
    let started = std::mem::replace(armed, Time::MAX);
    if started == Time::MAX || *due == Time::MAX {
        return false;
    }
    *due = expiry(started, *due, tick);
    *due > now
}

/// When a timer expires that was started at `armed` to expire at `due`, with ticks of this length at the multiples of it;
/// with a tick of zero exactly at `due`.
fn expiry(armed: Time, due: Time, tick: Duration) -> Time {
    if tick == Duration::ZERO {
        return due;
    }
    let jiffies = armed.as_nanos() / tick.as_nanos();
    let delta = (due - armed).as_nanos().div_ceil(tick.as_nanos()); // usecs_to_jiffies rounds up
    let level = (0..HIGHEST).find(|&level| delta < (BUCKETS - 1) << (SHIFT * level)).unwrap_or(HIGHEST);
    let shift = SHIFT * level;
    let expires = (((jiffies + delta) >> shift) + 1) << shift;
    Time::from_nanos(expires.saturating_mul(tick.as_nanos()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HZ_250: Duration = Duration::from_millis(4);
    const HZ_1000: Duration = Duration::from_millis(1);

    fn us(count: u64) -> Time {
        Time::ZERO + Duration::from_micros(count)
    }

    /// By hand from `calc_index` (Linux 6.1 and 6.18), HZ = 250. Started at 9.5 ms, in tick 2, for 2.3 ms: 2 + 1, and one tick
    /// later, 16 ms. For 40 ms: 2 + 10 + 1 ticks, 52 ms.
    #[test]
    fn a_short_timer_expires_one_tick_after_its_own() {
        assert_eq!(expiry(us(9_500), us(11_800), HZ_250), us(16_000));
        assert_eq!(expiry(us(9_500), us(49_500), HZ_250), us(52_000));
    }

    /// By hand. HZ = 1000, 200 ms from 0.5 ms on: 200 ticks are above 63, so that buckets are 8 ticks wide: (200/8 + 1)·8 =
    /// 208. HZ = 250: 200 ms are 50 ticks, and 51 are 204 ms; 252 ms are 63 ticks, of the next level: (63/8 + 1)·8 = 64
    /// ticks, 256 ms; 2.016 s are 504 ticks, of the level after it: (504/64 + 1)·64 = 512 ticks, 2.048 s.
    #[test]
    fn long_timers_expire_at_wider_buckets() {
        assert_eq!(expiry(us(500), us(200_500), HZ_1000), us(208_000));
        assert_eq!(expiry(us(500), us(200_500), HZ_250), us(204_000));
        assert_eq!(expiry(us(500), us(252_500), HZ_250), us(256_000));
        assert_eq!(expiry(us(500), us(2_016_500), HZ_250), us(2_048_000));
    }

    proptest! {
        /// "The timer wheel has to guarantee that a timer does not fire early"; and it is late by one bucket and two ticks at
        /// most, a bucket being an eighth of the timeout or less, or a tick.
        #[test]
        fn a_timer_is_never_early_and_late_by_an_eighth_at_most(armed in 0u64..1 << 40, wait in 1u64..1 << 37) {
            let armed = Time::from_nanos(armed);
            let wait = Duration::from_nanos(wait);
            let late = expiry(armed, armed + wait, HZ_250) - (armed + wait);
            prop_assert!(late.as_nanos() > 0 && late.as_nanos() <= wait.as_nanos() / 7 + 2 * HZ_250.as_nanos());
        }
    }
}
