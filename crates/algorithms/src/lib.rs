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
        cubic_linux,
        cubic_ns2,
        bic,
        highspeed,
        scalable,
        bbr1,
        bbr3,
        rcp_bbr,
        copa,
        ctcp,
    }
    slow_start {
        standard,
        limited,
        hystart,
        hystart_linux,
        hystart_pp,
        ccm_ss,
    }
    recovery {
        tahoe,
        reno,
        newreno,
        sack,
        fack,
        rack,
    }
}

/// The names by which papers and stacks call them.
pub static ALIASES: &[(&str, &str)] = &[
    ("newreno", "reno+standard/newreno"),
    ("tahoe", "reno+standard/tahoe"),
    ("sack-tcp", "reno+standard/sack"),
    ("compound", "ctcp"),
    ("bbr", "bbr3"),
    ("stcp", "scalable"),
    ("hstcp", "highspeed"),
    ("hystart-cubic", "cubic+hystart"),
    ("hystart++", "hystart-pp"),
    ("rack-tlp", "rack"),
];

/// All entries and aliases.
#[must_use]
pub fn catalogue() -> Catalogue {
    Catalogue { specs: ALL.to_vec(), aliases: ALIASES }
}

#[cfg(test)]
mod tests;
