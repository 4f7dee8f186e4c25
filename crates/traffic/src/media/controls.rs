//! The congestion controls for media: one line each.

use cwndlab_config::{Custom, Faults, FieldType, Kind, Reader};
use cwndlab_units::Time;
use serde_json::Value;

use crate::media::custom::{CustomControl, HINT};
use crate::media::rate_control::{Parameters, RateControl};

macro_rules! rate_controls {
    ($($(#[doc = $meaning:literal])+ $name:ident = $word:literal => $module:ident,)+) => {
        /// The congestion control of media.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum MediaControl {
            $($(#[doc = $meaning])+ $name,)+
            /// none: the encoder has `max_rate`
            None,
            /// a class of the user
            Custom(CustomControl),
        }

        /// The names of the controls of the tree, and their meanings.
        pub(crate) const WORDS: &[(&str, &str)] = &[
            $(($word, concat!($($meaning),+).trim_ascii()),)+
            ("none", "none: the encoder has `max_rate`"),
        ];

        impl MediaControl {
            /// The control of this name in the tree.
            pub(crate) fn of_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$name),)+
                    "none" => Some(Self::None),
                    _ => None,
                }
            }

            /// The control in its initial state at the time `now`; `None` without one.
            pub(crate) fn start(&self, parameters: &Parameters, now: Time) -> Option<Box<dyn RateControl>> {
                match self {
                    $(Self::$name => Some(Box::new(crate::media::$module::Control::new(parameters, now))),)+
                    Self::None => None,
                    Self::Custom(custom) => Some(custom.start(parameters)),
                }
            }
        }
    };
}

rate_controls! {
    /// by delay, losses and marks (RFC 8698)
    Nada = "nada" => nada,
    /// by a window of bytes in flight, with L4S (draft-ietf-ccwg-rfc8298bis-screamv2)
    Scream2 = "scream2" => scream2,
    /// Google's congestion control of WebRTC, by the trend of the delay and by losses
    Gcc = "gcc" => gcc,
}

/// Whether a control of the tree has this name.
#[must_use]
pub fn is_of_the_tree(name: &str) -> bool {
    MediaControl::of_word(name).is_some()
}

static CLASS_FORM: Custom = Custom {
    accepts: "the name of a class in Python: \"mine(gain=2)\"",
    schema: || serde_json::json!({ "type": "string", "pattern": "^[a-z][a-z0-9-]*(\\(.*\\))?$" }),
    canonical: Value::clone,
    python: "str",
};

impl FieldType for MediaControl {
    type Value = Self;

    const KIND: Kind = Kind::Either(&[Kind::Words(WORDS), Kind::Custom(&CLASS_FORM)]);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Self> {
        let text = table.string(name, faults)?;
        let control = Self::of_word(&text).or_else(|| CustomControl::named(text.clone()).map(Self::Custom));
        if control.is_none() {
            faults.add(table.at(name), format!("'{text}' is no congestion control for media"), HINT);
        }
        control
    }
}
