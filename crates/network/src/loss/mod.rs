//! Loss models of a wire. A model is one file and one line in the list below (`docs/scenario.md` shows its fields).

use cwndlab_config::{registry, Choice};

use crate::random::Stream;

macro_rules! models {
    ($($name:ident => $module:ident,)*) => {
        registry! {
            /// The configuration of any model.
            #[derive(Clone, Debug, PartialEq)] Config
            $($name => $module,)*
        }

        impl Config {
            /// The process at its beginning.
            #[must_use]
            pub fn build(&self, stream: Stream) -> Loss {
                match self {
                    $(Self::$name(config) => Loss::$name(config.build(stream)),)*
                }
            }
        }

        /// A loss process, asked once per packet in the order of arrival at the wire.
        #[derive(Clone, Debug)]
        pub enum Loss {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name($module::Process),)*
        }

        impl Loss {
            /// Whether this packet, which carries payload or not, is lost.
            #[inline]
            pub fn takes(&mut self, payload: bool) -> bool {
                match self {
                    $(Self::$name(process) => process.takes(payload),)*
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

/// The choice of a loss model by `kind`.
pub static CHOICE: Choice = Choice {
    name: "loss",
    tag: "kind",
    default: None,
    example: "'kind = \"bernoulli\"', \"gilbert-elliott\" or \"list\"",
    shorthand: false,
    tables: || SPECS.to_vec(),
};
