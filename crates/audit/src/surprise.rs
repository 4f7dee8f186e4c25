//! The length of the corrections that make the windows of an algorithm those of a log, in bits.

use cwndlab_units::Time;

use crate::departure::DepartureKind;

/// A window that the reference does not explain.
#[derive(Clone, Copy, Debug)]
pub struct Miss {
    /// Time.
    pub time: Time,
    /// ACKs compared until then.
    pub acks: u64,
    /// Windows compared until then, with this one.
    pub checks: u64,
    /// Its kind.
    pub kind: DepartureKind,
    /// The logged window, bytes.
    pub logged: u64,
    /// The reference's window, bytes.
    pub reference: u64,
    /// The tolerance, bytes.
    pub tolerance: u64,
}

/// The bits of the windows that an algorithm does not explain.
///
/// A correction has the place of the window among those that are compared, `log2(windows)`, and the size of the difference
/// in tolerances, `2·log2(1 + |difference|)`. Where the difference of the window before lasts, one bit says so, and the
/// change of the difference stands for its size. Only differences of model-based algorithms last: their windows follow
/// from measurements, so that a correction would not stay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surprise {
    /// Corrections that have a place.
    placed: u64,
    /// Bits of everything but the places.
    rest: f64,
}

impl Surprise {
    /// Adds a correction, which follows on `last`.
    pub fn add(&mut self, miss: &Miss, last: Option<&Miss>) {
        if let Some(last) = last.filter(|last| lasts(miss, last)) {
            self.rest += 1.0 + size(difference(miss) - difference(last));
        } else {
            self.placed += 1;
            self.rest += size(difference(miss));
        }
    }

    /// All bits, of `windows` that are compared.
    ///
    /// ```
    /// use cwndlab_audit::surprise::Surprise;
    ///
    /// assert_eq!(Surprise::default().bits(100), 0.0);
    /// ```
    #[must_use]
    pub fn bits(&self, windows: u64) -> f64 {
        self.placed as f64 * (windows.max(2) as f64).log2() + self.rest
    }
}

/// Whether `miss` is the difference of the window before.
fn lasts(miss: &Miss, last: &Miss) -> bool {
    miss.kind == DepartureKind::Model && miss.checks == last.checks + 1
}

/// The logged window less that of the algorithm, in tolerances.
fn difference(miss: &Miss) -> f64 {
    (miss.logged as f64 - miss.reference as f64) / miss.tolerance.max(1) as f64
}

fn size(difference: f64) -> f64 {
    2.0 * (1.0 + difference.abs()).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn miss(kind: DepartureKind, checks: u64, logged: u64) -> Miss {
        Miss { time: Time::ZERO, acks: checks, checks, kind, logged, reference: 10_000, tolerance: 1000 }
    }

    /// By hand, of 1,024 windows: a place has 10 bits, a difference of 3 tolerances 2·log2(4) = 4, of 7 tolerances 6.
    #[test]
    fn corrections_cost_their_place_and_their_size() {
        let [first, second] = [miss(DepartureKind::Reduction, 1, 13_000), miss(DepartureKind::Reduction, 2, 3_000)];
        let mut surprise = Surprise::default();
        surprise.add(&first, None);
        assert_eq!(surprise.bits(1024), 14.0);
        surprise.add(&second, Some(&first));
        assert_eq!(surprise.bits(1024), 30.0);
    }

    /// By hand: a difference that lasts has a bit and its change, 13 to 16 kB, 2·log2(1 + 3) = 4. After a window that the
    /// algorithm explains, it has a place again: 10 + 2·log2(1 + 7).
    #[test]
    fn a_difference_of_a_model_lasts_from_one_window_to_the_next() {
        let all = [(1, 13_000), (2, 16_000), (4, 17_000)].map(|(at, cwnd)| miss(DepartureKind::Model, at, cwnd));
        let mut surprise = Surprise::default();
        surprise.add(&all[0], None);
        surprise.add(&all[1], Some(&all[0]));
        assert_eq!(surprise.bits(1024), 14.0 + 5.0);
        surprise.add(&all[2], Some(&all[1]));
        assert_eq!(surprise.bits(1024), 14.0 + 5.0 + 16.0);
    }
}
