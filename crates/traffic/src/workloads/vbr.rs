//! Variable bit rate video: frames of random size at constant intervals.

use cwndlab_config::{Faults, Field, Kind, Literal, Reader, Table, Word};
use cwndlab_units::{Bytes, Duration, Rate};

use crate::application::{Application, ApplicationKind, OfferedLoad};
use crate::configuration::{Configuration, Transport};
use crate::datagrams::{Datagrams, SendPattern};
use crate::distribution::Distribution;
use crate::flow_context::FlowContext;
use crate::packets;

const FRAME_SIZES: &[Word] = &[("log-normal", "log-normal"), ("gamma", "gamma")];

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "vbr",
    "Video: frames at constant intervals, with independent random sizes of mean `rate` / `frame_rate`. A frame is sent as a burst of packets of `packet` bytes (UDP). The other common model of a variable rate, exponential bursts, is `on-off` with exponential periods.",
    &[
        packets::FIELDS,
        &[
            Field::new("frame_rate", Kind::Number(0.0, 1e6), "frames per second").or(Literal::Number(25.0)),
            Field::new("cv", Kind::Number(0.0, 100.0), "coefficient of variation of the frame sizes")
                .or(Literal::Number(0.5)),
            Field::word("sizes", FRAME_SIZES, "log-normal", "distribution of the frame sizes"),
        ],
    ],
)
.class("Vbr");

/// The configuration of the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Mean rate, headers included.
    pub rate: Rate,
    /// Maximum size of a packet, headers included.
    pub packet: Bytes,
    /// Time between two frames.
    pub interval: Duration,
    /// Size of a frame in bytes, headers included.
    pub size: Distribution,
}

impl Configuration for Config {
    const TRANSPORTS: &'static [Transport] = &[Transport::Udp];

    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let (frames, cv) = (table.number("frame_rate", faults), table.number("cv", faults));
        let gamma = table.word("sizes", faults).map(|name| name == "gamma");
        let (rate, packet) = packets::read(table, faults)?;
        let (frames, cv) = (frames?, cv?);
        let mean = rate.0 as f64 / 8.0 / frames;
        let size = if gamma? { Distribution::gamma(mean, cv) } else { Distribution::log_normal(mean, cv) };
        Some(Self { rate, packet, interval: Duration((1e9 / frames) as u64), size })
    }

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Datagrams
    }

    fn application(&self, flow: &FlowContext) -> Application {
        let pattern = SendPattern::Frames { interval: self.interval, size: self.size.clone() };
        Application::Datagrams(Datagrams::new(self.rate, self.packet, pattern, flow))
    }

    fn offered_load(&self) -> OfferedLoad {
        let frames = 1e9 / self.interval.0.max(1) as f64;
        OfferedLoad::Packets { per_second: packets::per_second(self.rate, self.packet).max(frames) }
    }

    fn packet(&self) -> Option<Bytes> {
        Some(self.packet)
    }
}
