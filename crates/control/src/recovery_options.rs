//! The options of the loss recoveries, which the transport implements.

use crate::options;

options! {
    pub struct FackOptions {
        /// reduction of the window: that of the stack profile (profile); at once (none); at once, and then at most one
        /// segment above the data in flight (in-flight); by one segment per two ACKs (halving); the last two are those
        /// of Linux 2.6
        rampdown: FackRampdown {
            Profile = "profile",
            None = "none",
            InFlight = "in-flight",
            Halving = "halving"
        } = Profile,
    }
}

options! {
    pub struct RackOptions {
        /// version of proportional rate reduction
        prr: RackPrr { Profile = "profile", Rfc6937 = "6937", Rfc9937 = "9937" } = Profile,
    }
}
