//! A controller that delegates to noq's own, and notes RTT samples and bytes in flight, which the connection does not
//! show.

use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use noq_proto::RttEstimator;

/// What was noted since the last report.
#[derive(Debug, Default)]
pub struct Observed {
    /// Times from the sending of the largest acknowledged packet to its ACK (RFC 9002, 5.1).
    pub samples: Vec<Duration>,
    /// Bytes in flight after the last ACK.
    pub in_flight: u64,
}

pub struct ObservedFactory {
    inner: Arc<dyn ControllerFactory + Send + Sync>,
    observed: Arc<Mutex<Observed>>,
}

impl ObservedFactory {
    pub fn new(inner: Arc<dyn ControllerFactory + Send + Sync>, observed: Arc<Mutex<Observed>>) -> Self {
        Self { inner, observed }
    }
}

impl ControllerFactory for ObservedFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, current_mtu);
        Box::new(ObservedController { inner, observed: self.observed.clone(), newest: None })
    }
}

#[derive(Debug)]
struct ObservedController {
    inner: Box<dyn Controller>,
    observed: Arc<Mutex<Observed>>,
    /// When the newest packet of the ACK was sent.
    newest: Option<Instant>,
}

impl Controller for ObservedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        self.inner.on_packet_sent(now, bytes, number);
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, number: u64, app_limited: bool, rtt: &RttEstimator) {
        self.newest = self.newest.max(Some(sent));
        self.inner.on_ack(now, sent, bytes, number, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        let mut observed = self.observed.lock().expect("no thread panics");
        observed.samples.extend(self.newest.take().map(|sent| now - sent));
        observed.in_flight = in_flight;
        drop(observed);
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost: u64,
    ) {
        self.inner.on_congestion_event(now, sent, is_persistent, is_ecn, lost_bytes, largest_lost);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, number: u64, now: Instant) {
        self.inner.on_packet_lost(lost_bytes, number, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: Duration) {
        self.inner.on_ack_frequency_update(threshold, max_ack_delay);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let (inner, observed) = (self.inner.clone_box(), self.observed.clone());
        Box::new(Self { inner, observed, newest: self.newest })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}
