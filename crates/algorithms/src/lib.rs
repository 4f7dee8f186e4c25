//! The catalogue's algorithms: one file and one line of this registry for each.

use cwndlab_control::{Catalogue, Spec};

pub mod shared;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident => $folder:literal,)*) => {
        $(
            $(#[$doc])*
            pub mod $kind {
                automod::dir!(pub $folder);
            }
        )*
    };
}

kinds! {
    /// Congestion avoidance: the increase of the window, and its reduction after congestion events.
    congestion_avoidance => "src/congestion_avoidance",
    /// Whole algorithms, which have a slow start of their own.
    whole => "src/whole",
    /// Slow start.
    slow_start => "src/slow_start",
    /// The sender's part of router-assisted schemes.
    router => "src/router",
    /// Entries of the loss recoveries, which the transport implements.
    recovery => "src/recovery",
    /// Entries of mechanisms of the transport, which apply to every algorithm.
    mechanism => "src/mechanism",
}

macro_rules! algorithms {
    ($($kind:ident::$name:ident,)*) => {
        /// All entries, in the order of the documentation.
        pub static ALL: &[&Spec] = &[$(&$kind::$name::SPEC),*];
    };
}

algorithms! {
    congestion_avoidance::reno,
    congestion_avoidance::cubic,
    congestion_avoidance::cubic_8312,
    congestion_avoidance::cubic_linux,
    congestion_avoidance::cubic_ns2,
    congestion_avoidance::cubic_fit,
    congestion_avoidance::cuback,
    congestion_avoidance::bic,
    congestion_avoidance::highspeed,
    congestion_avoidance::scalable,
    congestion_avoidance::htcp,
    congestion_avoidance::hybla,
    congestion_avoidance::westwood,
    congestion_avoidance::westwood_plus,
    congestion_avoidance::libra,
    whole::bbr1,
    whole::bbr2_s2n,
    whole::bbr2_quiche,
    whole::bbr3,
    whole::rcp_bbr,
    whole::copa,
    whole::prague,
    whole::c4,
    congestion_avoidance::ctcp,
    congestion_avoidance::dctcp,
    congestion_avoidance::abe_ecn,
    whole::iotcc,
    whole::phcc,
    congestion_avoidance::vegas,
    congestion_avoidance::vegas_plus,
    congestion_avoidance::yeah,
    congestion_avoidance::fast,
    congestion_avoidance::fast_fit,
    congestion_avoidance::fusion,
    congestion_avoidance::hcc,
    congestion_avoidance::ledbat,
    congestion_avoidance::ledbat_pp,
    congestion_avoidance::tcp_fit,
    congestion_avoidance::veno,
    congestion_avoidance::illinois,
    slow_start::standard,
    slow_start::limited,
    slow_start::hystart,
    slow_start::hystart_linux,
    slow_start::hystart_pp,
    slow_start::ccm_ss,
    slow_start::hoe,
    slow_start::astart,
    slow_start::paced_start,
    slow_start::esse,
    slow_start::gallop,
    slow_start::capstart,
    slow_start::abe_tcp,
    slow_start::afstart,
    slow_start::altss,
    slow_start::swift_start,
    slow_start::search,
    slow_start::quick_start,
    slow_start::rapid_start,
    slow_start::suss,
    slow_start::careful_resume,
    slow_start::alss_sirens,
    slow_start::vegas_ss,
    router::rcp,
    router::perc,
    router::sirens,
    router::abc_wireless,
    recovery::tahoe,
    recovery::reno,
    recovery::newreno,
    recovery::sack,
    recovery::fack,
    recovery::rack,
    mechanism::prr,
    mechanism::rto,
    mechanism::undo,
    mechanism::ecn_classic,
}

/// Names in papers and stacks, and the texts for which they stand.
pub static ALIASES: &[(&str, &str)] = &[
    ("newreno", "reno+standard/newreno"),
    ("tcp-newreno", "reno+standard/newreno"),
    ("tcp-reno", "reno+standard/reno"),
    ("tcp-tahoe", "reno+standard/tahoe"),
    ("tcp-cubic", "cubic"),
    ("tcp-vegas", "vegas"),
    ("tcp-veno", "veno"),
    ("tcp-westwood", "westwood"),
    ("tcp-illinois", "illinois"),
    ("tcp-hybla", "hybla"),
    ("tcp-yeah", "yeah"),
    ("tcp-libra", "libra"),
    ("tcp-fusion", "fusion"),
    ("h-tcp", "htcp"),
    ("fast-tcp", "fast"),
    ("bic-tcp", "bic"),
    ("hcc-tcp", "hcc"),
    ("phcc-tcp", "phcc"),
    ("bbrv1", "bbr1"),
    ("bbrv3", "bbr3"),
    ("ledbat++", "ledbat-pp"),
    ("tahoe", "reno+standard/tahoe"),
    ("sack-tcp", "reno+standard/sack"),
    ("compound", "ctcp"),
    ("bbr", "bbr3"),
    ("stcp", "scalable"),
    ("hstcp", "highspeed"),
    ("hystart-cubic", "cubic+hystart"),
    ("hystart++", "hystart-pp"),
    ("rack-tlp", "rack"),
    ("abc", "abc-wireless"),
    ("abe", "abe-ecn"),
];

/// The catalogue of all entries and aliases.
#[must_use]
pub fn catalogue() -> Catalogue {
    Catalogue { specs: ALL.to_vec(), aliases: ALIASES }
}

#[cfg(test)]
mod tests;
