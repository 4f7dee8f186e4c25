//! CoAP over UDP (RFC 7252): requests of a device or of its client, notifications (RFC 7641), payloads in blocks (RFC 7959).

use cwndlab_config::Table;
use cwndlab_units::Bytes;

use crate::application::{Application, ApplicationKind, OfferedLoad};
pub use crate::coap::configuration::Config;
use crate::coap::Coap;
use crate::configuration::{Configuration, Transport};
use crate::exchange::DatagramExchange;
use crate::flow_context::FlowContext;

/// The declaration of the workload.
pub static SPEC: Table = Table::new(
    "coap",
    "A device that sends or offers measurements by CoAP over UDP (RFC 7252): POST requests, GET requests of the flow's receiver, or notifications (Observe, RFC 7641), confirmable or not, in blocks if they are larger than `block` (RFC 7959). A message of the workload is delivered when its payload is complete at its addressee; a transfer ends when the requester has the response, or the notifier the acknowledgement.",
    &[Config::FIELDS],
)
.class("Coap");

impl Configuration for Config {
    const TRANSPORTS: &'static [Transport] = &[Transport::Udp];

    fn application_kind(&self) -> ApplicationKind {
        ApplicationKind::Exchange
    }

    fn application(&self, flow: &FlowContext) -> Application {
        Application::Exchange(Box::new(DatagramExchange::new(
            self.dtls.wrap(Box::new(Coap::new(self, flow))),
            flow.header,
        )))
    }

    fn offered_load(&self) -> OfferedLoad {
        OfferedLoad::Packets { per_second: 2e9 / self.period.mean().max(1.0) }
    }

    fn packet(&self) -> Option<Bytes> {
        Some(self.largest_packet())
    }

    fn secondary_connections(&self) -> u32 {
        1
    }
}
