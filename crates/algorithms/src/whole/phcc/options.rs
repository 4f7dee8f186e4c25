//! The parameters of PHCC. Numbers in parentheses are the equations of [`crate::whole::phcc`].

use cwndlab_control::Arguments;

/// The parameters.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Packets in the queue in the equilibrium of (3).
    pub alpha: f64,
    /// R is the smoothed RTT of the transport instead of the mean of the round.
    pub smoothed: bool,
    /// Minimum q of (3), s.
    pub q_floor: f64,
    /// W(D_tar) is at most 2 w.
    pub delay_cap: bool,
    /// Before the first loss W_loss is 2 w; otherwise (3) alone is the target.
    pub unlost_double: bool,
    /// D_max includes the first term of (6).
    pub by_delay: bool,
    /// D_max includes D_loss.
    pub by_loss: bool,
    /// The window is constant in (9).
    pub hold: bool,
    /// The window changes over a round trip instead of at once.
    pub spread: bool,
    /// The transport paces.
    pub pacing: bool,
}

impl Options {
    /// The parameters from the arguments of the entry.
    #[must_use]
    pub fn new(arguments: &Arguments) -> Self {
        let d_max = arguments.word("d_max");
        Self {
            alpha: arguments.number("alpha"),
            smoothed: arguments.word("rtt") == "smoothed",
            q_floor: arguments.number("q_floor") * 1e-3,
            delay_cap: arguments.word("delay_cap") == "on",
            unlost_double: arguments.word("unlost") == "double",
            by_delay: d_max != "loss",
            by_loss: d_max != "delay",
            hold: arguments.word("critical") == "hold",
            spread: arguments.word("spread") == "on",
            pacing: arguments.word("pacing") == "on",
        }
    }
}
