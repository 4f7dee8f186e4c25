//! The options of PHCC. Numbers in parentheses are the equations of [`crate::whole::phcc`].

use cwndlab_control::options;

options! {
    pub struct Options {
        /// α, packets in the queue in the equilibrium of the delay target; the paper gives no value
        alpha: f64["packets"] = 20.0 in 1.0..=1e6,
        /// combination in Eq. 3, which sums two probabilities and can reach 2: their mean, or their sum, at most 1
        /// (clamp)
        eq3: Eq3 { Mean = "mean", Clamp = "clamp" } = Clamp,
        /// fraction of the range of queueing delays above which a round counts as delayed
        threshold: f64 = 0.5 in 0.01..=0.99,
        /// P(D_old) and P(L_old): of the last round, its delay as a fraction and whether it had a loss (round), or its
        /// probabilities P(D) and P(L) as the paper says (previous)
        old: Old { Round = "round", Previous = "previous" } = Previous,
        /// window after a timeout: one segment, or half as the paper says
        timeout: AfterTimeout { One = "one", Half = "half" } = One,
        /// decay factor of the counts of transitions per round
        memory: f64 = 0.95 in 0.0..=1.0,
        /// prior probability of a loss, with the weight of 100 rounds
        loss_prior: f64 = 0.1 in 0.0001..=0.5,
        /// R: the mean RTT of the round, or the smoothed RTT of the transport
        rtt: Rtt { Mean = "mean", Smoothed = "smoothed" } = Mean,
        /// minimum queueing delay q in the delay target; at least a hundredth of the base RTT
        q_floor: f64["ms"] = 1.0 in 0.001..=1000.0,
        /// off: the weighted target is at most 2 w; on: the delay target is also at most 2 w before weighting, so that
        /// the window grows only slowly after an early loss
        delay_cap: bool = false,
        /// loss target before the first loss: 2 w (double), or none, so that the delay target is the target (delay)
        unlost: Unlost { Double = "double", Delay = "delay" } = Double,
        /// upper delay threshold: the maximum of Eq. 10 and the delay at the last loss (both), or one of them
        d_max: DMax { Both = "both", Delay = "delay", Loss = "loss" } = Both,
        /// window above the upper threshold, which the paper does not specify: min(w, W) (cap), or constant (hold)
        critical: Critical { Cap = "cap", Hold = "hold" } = Hold,
        /// on: pacing at 1.2 w/R (2 w/R in slow start), so that a doubled window is not sent in bursts; off: ACK
        /// clocking only
        pacing: bool = true,
        /// on: the window changes over a round trip, ACK by ACK; off: at once
        spread: bool = false,
    }
}
