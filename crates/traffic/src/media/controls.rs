//! The congestion controls for media: one line each.

use cwndlab_config::words;
use cwndlab_units::Time;

use crate::media::rate_control::{Parameters, RateControl};

macro_rules! rate_controls {
    ($($(#[doc = $meaning:literal])+ $name:ident = $word:literal => $module:ident,)+) => {
        words! {
            /// The congestion control of media.
            pub enum MediaControl {
                $($(#[doc = $meaning])+ $name = $word,)+
                /// none: the encoder has `max_rate`
                None = "none",
            }
        }

        impl MediaControl {
            /// The control in its initial state at the time `now`; `None` without one.
            pub(crate) fn start(self, parameters: &Parameters, now: Time) -> Option<Box<dyn RateControl>> {
                match self {
                    $(Self::$name => Some(Box::new(crate::media::$module::Control::new(parameters, now))),)+
                    Self::None => None,
                }
            }
        }
    };
}

rate_controls! {
    /// by delay and losses (RFC 8698)
    Nada = "nada" => nada,
    /// by a window of bytes in flight, with L4S (draft-ietf-ccwg-rfc8298bis-screamv2)
    Scream2 = "scream2" => scream2,
    /// Google's congestion control of WebRTC, by the trend of the delay and by losses
    Gcc = "gcc" => gcc,
}
