//! What a wire loses: Bernoulli, Gilbert–Elliott, an explicit list.

use std::sync::Arc;

use crate::random::Stream;

/// A loss process, asked once per packet in the order of arrival at the wire.
#[derive(Clone, Debug)]
pub enum Loss {
    /// Each packet with probability `p`.
    Bernoulli {
        /// Loss probability.
        p: f64,
        /// Its random stream.
        stream: Stream,
    },
    /// Gilbert–Elliott: the state changes before each packet, from the good one.
    GilbertElliott {
        /// P(good → bad).
        p: f64,
        /// P(bad → good).
        r: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// The state is the bad one.
        bad: bool,
        /// Its random stream.
        stream: Stream,
    },
    /// The packets with these indices.
    List {
        /// Indices from 0, ascending.
        indices: Arc<[u64]>,
        /// Only packets with payload count.
        payload_only: bool,
        /// Packets counted so far.
        seen: u64,
        /// Next entry.
        at: usize,
    },
}

impl Loss {
    /// Is this packet lost?
    #[inline]
    pub fn takes(&mut self, payload: bool) -> bool {
        match self {
            Self::Bernoulli { p, stream } => stream.unit() < *p,
            Self::GilbertElliott { p, r, loss_bad, loss_good, bad, stream } => {
                let change = stream.unit();
                *bad = if *bad { change >= *r } else { change < *p };
                stream.unit() < if *bad { *loss_bad } else { *loss_good }
            }
            Self::List { indices, payload_only, seen, at } => {
                if *payload_only && !payload {
                    return false;
                }
                let index = *seen;
                *seen += 1;
                let hit = indices.get(*at) == Some(&index);
                *at += usize::from(hit);
                hit
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `algorithms.md`: p = .01, r = .3, k_B = .5, k_G = 0 give π_B = 0.0323 and a mean loss of 0.01613.
    #[test]
    fn gilbert_elliott_loses_its_stationary_mean() {
        let stream = Stream::new(3, 0, 0);
        let mut loss = Loss::GilbertElliott { p: 0.01, r: 0.3, loss_bad: 0.5, loss_good: 0.0, bad: false, stream };
        let n = 2_000_000;
        let lost = (0..n).filter(|_| loss.takes(true)).count();
        let mean = lost as f64 / f64::from(n);
        assert!((mean - 0.016_129_032_258_064_516).abs() < 0.0005, "{mean}");
    }

    #[test]
    fn a_list_takes_exactly_its_packets() {
        let mut loss = Loss::List { indices: [1, 3].into(), payload_only: true, seen: 0, at: 0 };
        let fates: Vec<bool> = [true, false, true, true, true].into_iter().map(|payload| loss.takes(payload)).collect();
        assert_eq!(fates, [false, false, true, false, true]);
    }
}
