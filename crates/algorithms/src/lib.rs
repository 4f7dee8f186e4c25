//! The algorithms: one file each, and one line here.

use cwndlab_control::{Catalogue, Spec};

pub mod part;

macro_rules! algorithms {
    ($($shelf:ident { $($name:ident),* $(,)? })*) => {
        $(
            /// A shelf of like files.
            pub mod $shelf {
                $(pub mod $name;)*
            }
        )*

        /// Every entry, in the order of the shelves.
        pub static ALL: &[&Spec] = &[$($(&$shelf::$name::SPEC),*),*];
    };
}

algorithms! {
    growth {
        reno,
        cubic,
        cubic_8312,
        cubic_linux,
        cubic_ns2,
        cubic_fit,
        bic,
        highspeed,
        scalable,
        htcp,
        hybla,
        westwood,
        westwood_plus,
        libra,
        bbr1,
        bbr3,
        rcp_bbr,
        copa,
        ctcp,
        dctcp,
        abe_ecn,
        iotcc,
        phcc,
        vegas,
        vegas_plus,
        yeah,
        fast,
        fast_fit,
        fusion,
        hcc,
        ledbat,
        ledbat_pp,
        tcp_fit,
        veno,
        illinois,
    }
    slow_start {
        standard,
        limited,
        hystart,
        hystart_linux,
        hystart_pp,
        ccm_ss,
        hoe,
        astart,
        paced_start,
        esse,
        gallop,
        capstart,
        abe_tcp,
        afstart,
        altss,
        swift_start,
        search,
        quick_start,
        alss_sirens,
        vegas_ss,
    }
    router {
        rcp,
        perc,
        sirens,
        abc_wireless,
    }
    recovery {
        tahoe,
        reno,
        newreno,
        sack,
        fack,
        rack,
    }
    mechanism {
        prr,
        rto,
        undo,
        ecn_classic,
    }
}

/// The names by which papers and stacks call them.
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

/// All entries and aliases.
#[must_use]
pub fn catalogue() -> Catalogue {
    Catalogue { specs: ALL.to_vec(), aliases: ALIASES }
}

#[cfg(test)]
mod tests;
