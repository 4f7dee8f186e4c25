//! Video: frames of random size at even intervals.

use cwndlab_config::{Faults, Field, Kind, Literal, Reader, Table, Word};
use cwndlab_units::{Bytes, Duration, Rate};

use crate::application::{Application, ApplicationKind, Offered};
use crate::configuration::{Configuration, Transport};
use crate::datagrams::{Datagrams, Pattern};
use crate::distribution::Distribution;
use crate::flow_context::FlowContext;
use crate::packets;

const FRAME_SIZES: &[Word] = &[("log-normal", "log-normal"), ("gamma", "gamma")];

/// The entry among the workloads.
pub static SPEC: Table = Table::new(
    "vbr",
    "Video: frames at even intervals, independent of each other, of random size with mean `rate` / `frame_rate`; a frame leaves at once in packets of `packet` bytes (UDP). The other usual model of variable rate, exponential bursts, is `on-off` with exponential periods.",
    &[
        packets::FIELDS,
        &[
            Field::new("frame_rate", Kind::Number(0.0, 1e6), "frames per second").or(Literal::Number(25.0)),
            Field::new("cv", Kind::Number(0.0, 100.0), "coefficient of variation of a frame's size")
                .or(Literal::Number(0.5)),
            Field::word("sizes", FRAME_SIZES, "log-normal", "distribution of a frame's size"),
        ],
    ],
)
.class("Vbr");

/// The configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Mean rate, headers included.
    pub rate: Rate,
    /// Size of the largest packet, headers included.
    pub packet: Bytes,
    /// Between frames.
    pub interval: Duration,
    /// Bytes of a frame on the wire, headers included.
    pub size: Distribution,
}

impl Configuration for Config {
    const TRANSPORTS: &'static [Transport] = &[Transport::Udp];

    fn read(table: &Reader<'_>, faults: &mut Faults) -> Option<Self> {
        let (frames, cv) = (table.number("frame_rate", faults), table.number("cv", faults));
        let gamma = table.word("sizes", faults).map(|word| word == "gamma");
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
        let pattern = Pattern::Frames { interval: self.interval, size: self.size.clone() };
        Application::Datagrams(Datagrams::new(self.rate, self.packet, pattern, flow))
    }

    fn offered(&self) -> Offered {
        let frames = 1e9 / self.interval.0.max(1) as f64;
        Offered::Packets { per_second: packets::per_second(self.rate, self.packet).max(frames) }
    }

    fn packet(&self) -> Option<Bytes> {
        Some(self.packet)
    }
}
