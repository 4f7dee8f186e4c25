//! What the parameters of PHCC's entry choose; the numbers are the equations of [`crate::whole::phcc`].

use cwndlab_control::Arguments;

/// The choices.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Packets in the queue that (3) aims at.
    pub alpha: f64,
    /// R is the transport's smoothed RTT, not the mean of the round.
    pub smoothed: bool,
    /// Smallest q of (3), s.
    pub q_floor: f64,
    /// W(D_tar) is 2 w at most.
    pub delay_cap: bool,
    /// Before the first loss W_loss is 2 w; else (3) stands alone.
    pub unlost_double: bool,
    /// D_max takes the first term of (6).
    pub by_delay: bool,
    /// D_max takes D_loss.
    pub by_loss: bool,
    /// (9) keeps the window.
    pub hold: bool,
    /// A new window is reached over a round trip, not at once.
    pub spread: bool,
    /// The transport paces.
    pub paces: bool,
}

impl Options {
    /// Reads them.
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
            paces: arguments.word("pacing") == "on",
        }
    }
}
