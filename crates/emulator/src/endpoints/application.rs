//! The application of a flow by its workload: the side of the client, and the work of both endpoints.
//!
//! The client opens the connection (active OPEN of RFC 9293, section 3.9.1.1); the server accepts it.

use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::sync::Mutex;

use cwndlab_scenario::plan::FlowPlan;
use cwndlab_traffic as traffic;
use cwndlab_traffic::application::ApplicationKind;
use cwndlab_traffic::byte_source::ByteSource;
use cwndlab_units::Fault;

use super::arrivals::ArrivalEndpoints;
use super::connection::Endpoint;
use super::dialogue::{side_of, DialogueEndpoints};
use super::stream;
use crate::addresses::Side;
use crate::locking::lock;

/// The application of a flow.
#[derive(Debug)]
pub enum Application<'a> {
    /// Data in one direction.
    Stream(Endpoint<'a>, Mutex<ByteSource>),
    /// Messages in both directions.
    Dialogue(DialogueEndpoints<'a>),
    /// Transfers over their own connections.
    Arrivals(ArrivalEndpoints<'a>),
}

impl<'a> Application<'a> {
    /// The application of the endpoint's plan; `None` for workloads that do not run over kernel TCP.
    #[must_use]
    pub fn new(endpoint: Endpoint<'a>) -> Option<Self> {
        let context = endpoint.plan.context(endpoint.flow, endpoint.seed, endpoint.lifetime.stop);
        match endpoint.plan.workload.application(&context) {
            traffic::Application::ByteSource(source) => Some(Self::Stream(endpoint, Mutex::new(source))),
            traffic::Application::Dialogue(dialogue) => {
                Some(Self::Dialogue(DialogueEndpoints::new(endpoint, dialogue)))
            }
            traffic::Application::Arrivals(process) => Some(Self::Arrivals(ArrivalEndpoints::new(endpoint, process))),
            traffic::Application::Datagrams(_) | traffic::Application::Exchange(_) => None,
        }
    }

    /// The side of the client, which opens the connection.
    #[must_use]
    pub fn client_side(plan: &FlowPlan) -> Side {
        match plan.workload.application_kind() {
            ApplicationKind::Dialogue(client) => side_of(client),
            _ => Side::Senders,
        }
    }

    /// Runs the client until the end of the run.
    pub fn run_client(&self) -> Result<(), Fault> {
        let (Self::Stream(endpoint, _)
        | Self::Dialogue(DialogueEndpoints { endpoint, .. })
        | Self::Arrivals(ArrivalEndpoints { endpoint, .. })) = self;
        endpoint.run.sleep_until(endpoint.lifetime.start);
        if endpoint.run.is_over() {
            return Ok(());
        }
        endpoint.state.started.store(endpoint.run.now().as_nanos(), Ordering::Relaxed);
        let result = match self {
            Self::Stream(endpoint, source) => stream::send(endpoint, &mut lock(source)),
            Self::Dialogue(dialogue) => dialogue.run_client(),
            // Its process ends with the run, so that a transfer's failure would not be seen.
            Self::Arrivals(arrivals) => return arrivals.run_client().map_err(|error| endpoint.fault(error)),
        };
        if endpoint.run.is_over() {
            return Ok(()); // the server may have closed first
        }
        result.map_err(|error| endpoint.fault(error))
    }

    /// Runs the server until the end of the run.
    pub fn run_server(&self, listener: &TcpListener) {
        match self {
            Self::Stream(endpoint, _) => stream::receive(endpoint, listener),
            Self::Dialogue(dialogue) => dialogue.run_server(listener),
            Self::Arrivals(arrivals) => arrivals.run_server(listener),
        }
    }
}
