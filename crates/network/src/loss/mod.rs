//! Loss models of a wire. A model is one file and one line in the list below (`docs/scenario.md` shows its fields).

use cwndlab_config::{registry, Choice};

use crate::random::Stream;

macro_rules! models {
    ($($name:ident => $module:ident,)*) => {
        registry! {
            /// The configuration of a loss model.
            #[derive(Clone, Debug, PartialEq)] Config
            $($name => $module,)*
        }

        impl Config {
            /// The loss process in its initial state.
            #[must_use]
            pub fn build(&self, stream: Stream) -> Loss {
                match self {
                    $(Self::$name(config) => Loss::$name(config.build(stream)),)*
                }
            }
        }

        /// A loss process; its state advances with each packet, in the order of arrival at the wire.
        #[derive(Clone, Debug)]
        pub enum Loss {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name($module::Process),)*
        }

        impl Loss {
            /// Advances the process by one packet and returns whether it is lost; `payload`: the packet carries
            /// payload.
            #[inline]
            pub fn loses(&mut self, payload: bool) -> bool {
                match self {
                    $(Self::$name(process) => process.loses(payload),)*
                }
            }
        }
    };
}

models! {
    Bernoulli => bernoulli,
    GilbertElliott => gilbert_elliott,
    List => list,
}

/// The selection of a loss model by `kind`.
pub static CHOICE: Choice = Choice {
    name: "loss",
    tag: "kind",
    default: None,
    example: "'kind = \"bernoulli\"', \"gilbert-elliott\" or \"list\"",
    shorthand: false,
    tables: || SPECS.to_vec(),
};
