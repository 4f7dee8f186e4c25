//! Variable bit rate video: frames of random size at constant intervals.

use cwndlab_config::{fields, words, Table};
use cwndlab_units::{Bytes, Duration};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::{Configuration, Transport};
use crate::datagrams::{Datagrams, SendPattern};
use crate::distribution::Distribution;
use crate::flow_context::FlowContext;
use crate::packets::Packets;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "vbr",
    "Video: frames at constant intervals, with independent random sizes of mean `rate` / `frame_rate`. A frame is sent as a burst of packets of `packet` bytes (UDP). The other common model of a variable rate, exponential bursts, is `on-off` with exponential periods.",
    &[Config::FIELDS],
)
.class("Vbr");

words! {
    /// The distribution of the frame sizes.
    pub enum FrameSizes {
        /// log-normal
        LogNormal = "log-normal",
        /// gamma
        Gamma = "gamma",
    }
}

fields! {
    /// The configuration of the workload.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// mean rate, and maximum size of a packet
        packets: Packets,
        /// frames per second
        frame_rate: f64 = 25.0 up to 1e6,
        /// coefficient of variation of the frame sizes
        cv: f64 = 0.5 up to 100.0,
        /// distribution of the frame sizes
        sizes: FrameSizes = "log-normal",
    }
}

impl Config {
    /// Time between two frames.
    #[must_use]
    pub fn interval(&self) -> Duration {
        Duration::from_nanos((1e9 / self.frame_rate) as u64)
    }

    /// Size of a frame in bytes, headers included.
    #[must_use]
    pub fn size(&self) -> Distribution {
        let mean = self.packets.rate.0 as f64 / 8.0 / self.frame_rate;
        match self.sizes {
            FrameSizes::LogNormal => Distribution::log_normal(mean, self.cv),
            FrameSizes::Gamma => Distribution::gamma(mean, self.cv),
        }
    }
}

impl Configuration for Config {
    const TRANSPORTS: &'static [Transport] = &[Transport::Udp];

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Datagrams
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let pattern = SendPattern::Frames { interval: self.interval(), size: self.size() };
        Application::Datagrams(Datagrams::new(self.packets.rate, self.packets.packet, pattern, flow))
    }

    fn offered_load(&self) -> OfferedLoad {
        let frames = 1e9 / self.interval().as_nanos().max(1) as f64;
        OfferedLoad::Packets { per_second: self.packets.per_second().max(frames) }
    }

    fn packet(&self) -> Option<Bytes> {
        Some(self.packets.packet)
    }
}
