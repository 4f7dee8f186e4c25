//! The application of a flow, by its workload: which side opens the connection, and what both endpoints do.

use std::net::TcpListener;
use std::sync::atomic::Ordering;

use cwndlab_linux::fault::Fault;
use cwndlab_scenario::plan::{FlowPlan, Workload};

use super::connection::Endpoint;
use super::mqtt::MqttDialogue;
use super::request_response::RequestResponse;
use super::stream;
use crate::addresses::Side;

/// The application of a flow.
#[derive(Debug)]
pub enum Application<'a> {
    /// Data in one direction.
    Stream(Endpoint<'a>),
    /// Requests and responses.
    RequestResponse(Endpoint<'a>, RequestResponse<'a>),
    /// A sensor and a broker.
    Mqtt(Endpoint<'a>, MqttDialogue<'a>),
}

impl<'a> Application<'a> {
    /// The application of the endpoint's plan.
    #[must_use]
    pub fn new(endpoint: Endpoint<'a>) -> Self {
        match &endpoint.plan.workload {
            Workload::Exchanges { .. } => Self::RequestResponse(endpoint, RequestResponse::new(endpoint)),
            Workload::Mqtt(sensor) => Self::Mqtt(endpoint, MqttDialogue::new(endpoint, sensor)),
            _ => Self::Stream(endpoint),
        }
    }

    /// The side that opens the connection. The client of requests is where the flow's data goes.
    #[must_use]
    pub fn opener(plan: &FlowPlan) -> Side {
        match plan.workload {
            Workload::Exchanges { .. } => Side::Receivers,
            _ => Side::Senders,
        }
    }

    /// Runs the endpoint that opens the connection until the end of the run.
    pub fn run_opener(&self) -> Result<(), Fault> {
        let (endpoint, dialogue): (_, &dyn Fn() -> std::io::Result<()>) = match self {
            Self::Stream(endpoint) => return stream::send(endpoint),
            Self::RequestResponse(endpoint, dialogue) => (endpoint, &|| dialogue.run_client()),
            Self::Mqtt(endpoint, dialogue) => (endpoint, &|| dialogue.run_sensor()),
        };
        endpoint.run.sleep_until(endpoint.start);
        if endpoint.run.is_over() {
            return Ok(());
        }
        endpoint.state.started.store(endpoint.run.now().0, Ordering::Relaxed);
        let result = dialogue();
        if !endpoint.run.is_over() {
            // At the end of the run the other endpoint may close first.
            result.map_err(|error| endpoint.fault(error))?;
            endpoint.state.ended.store(endpoint.run.now().0, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Runs the endpoint that accepts connections until the end of the run.
    pub fn run_acceptor(&self, listener: &TcpListener) {
        match self {
            Self::Stream(endpoint) => stream::receive(endpoint, listener),
            Self::RequestResponse(_, dialogue) => dialogue.run_server(listener),
            Self::Mqtt(_, dialogue) => dialogue.run_broker(listener),
        }
    }
}
