//! The options of an algorithm, each declared once.

use crate::spec::{Arguments, Value};

/// A type of options: `f64`, `bool`, or an enum that [`options!`](crate::options!) defines.
pub trait OptionType: Sized {
    /// Converts a value of the catalogue; `None` for a value of another type.
    fn from_value(value: Value) -> Option<Self>;
}

impl OptionType for f64 {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(number),
            Value::Word(_) => None,
        }
    }
}

impl OptionType for bool {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Word("on") => Some(true),
            Value::Word("off") => Some(false),
            _ => None,
        }
    }
}

/// The option `name` for the struct that [`options!`](crate::options!) defines.
#[doc(hidden)]
#[must_use]
pub fn read<T: OptionType>(arguments: &Arguments, name: &str) -> T {
    let value = arguments.get(name).and_then(T::from_value);
    value.unwrap_or_else(|| panic!("the parameters of the entry are not those of its options: '{name}'"))
}

/// Declares the options of an entry: a struct with a field for each. `PARAMETERS` of the struct is the list for the
/// entry, `Default` gives the defaults, and the struct converts from the [`Arguments`] of a flow.
///
/// An option has its documentation, as in `cwndlab show`, a name, a type and a default:
/// - `f64`, with a unit unless it is a ratio, and a range that includes both bounds;
/// - `bool`, with the words `on` and `off`;
/// - an enum, with a word for each variant; without words, an enum that other options define.
///
/// ```
/// use cwndlab_control::{options, Value};
///
/// options! {
///     struct Options {
///         /// increment per round trip
///         alpha: f64["segments"] = 1.0 in 0.1..=10.0,
///         /// decrease factor
///         beta: f64 = 0.7 in 0.1..=0.99,
///         /// on: the transport paces
///         pacing: bool = false,
///         /// RTT of a round: the minimum or the mean of its samples
///         rtt: Rtt { Min = "min", Mean = "mean" } = Min,
///     }
/// }
///
/// let options = Options::default();
/// assert_eq!((options.alpha, options.rtt), (1.0, Rtt::Min));
/// assert_eq!(Options::PARAMETERS[2].default, Value::Word("off"));
/// ```
///
/// A misspelt option does not compile:
///
/// ```compile_fail,E0609
/// # cwndlab_control::options! {
/// #     struct Options {
/// #         /// decrease factor
/// #         beta: f64 = 0.7 in 0.1..=0.99,
/// #     }
/// # }
/// let factor = Options::default().bta;
/// ```
#[macro_export]
macro_rules! options {
    ($vis:vis struct $options:ident {$(
        $(#[doc = $doc:literal])+
        $name:ident: $type:ident $([$unit:literal])? $({$($variant:ident = $word:literal),+})?
            = $default:tt $(in $low:literal..=$high:literal)?
    ),+ $(,)?}) => {
        /// The options of the entry.
        #[derive(Clone, Copy, Debug)]
        $vis struct $options {
            $($(#[doc = $doc])+ $vis $name: $type,)+
        }

        $($(
            #[doc = concat!("Values of `", stringify!($name), "`.")]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            $vis enum $type {
                $(#[doc = concat!("`", $word, "`")] $variant,)+
            }

            impl $type {
                /// The words, in the order of the variants.
                $vis const WORDS: &'static [&'static str] = &[$($word),+];
            }

            impl $crate::options::OptionType for $type {
                fn from_value(value: $crate::Value) -> Option<Self> {
                    match value {
                        $($crate::Value::Word($word) => Some(Self::$variant),)+
                        _ => None,
                    }
                }
            }
        )?)+

        impl $options {
            /// The parameters of the entry.
            $vis const PARAMETERS: &'static [$crate::Parameter] = &[$($crate::Parameter {
                name: stringify!($name),
                unit: concat!($($unit)?),
                default: $crate::options!(@value $type $default),
                domain: $crate::options!(@domain $type $($low $high)?),
                doc: concat!($($doc),+).trim_ascii(),
            }),+];
        }

        impl Default for $options {
            fn default() -> Self {
                Self { $($name: $crate::options!(@default $type $default)),+ }
            }
        }

        impl From<&$crate::Arguments> for $options {
            fn from(arguments: &$crate::Arguments) -> Self {
                Self { $($name: $crate::options::read(arguments, stringify!($name))),+ }
            }
        }
    };
    (@default f64 $default:tt) => { $default };
    (@default bool $default:literal) => { $default };
    (@default $type:ident $default:ident) => { $type::$default };
    (@value f64 $default:tt) => { $crate::Value::Number($default) };
    (@value bool $default:literal) => { $crate::Value::Word(if $default { "on" } else { "off" }) };
    (@value $type:ident $default:ident) => { $crate::Value::Word($type::WORDS[$type::$default as usize]) };
    (@domain f64 $low:literal $high:literal) => { $crate::Domain::Range($low, $high) };
    (@domain bool) => { $crate::Domain::Words(&["on", "off"]) };
    (@domain $type:ident) => { $crate::Domain::Words($type::WORDS) };
}
