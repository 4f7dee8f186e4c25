//! Measurements of the sender, which both protocols derive from sent and acknowledged packets.

use cwndlab_control::{Ack, Cause, Congestion};
use cwndlab_transport::rate_sample::{RateSample, RateSampler};
use cwndlab_transport::rtt::RttEstimator;
use cwndlab_transport::segment::Segment;
use cwndlab_units::{Bytes, Duration, Time};

use crate::event::Metrics;

/// RTT, delivery rate and rounds of a connection.
#[derive(Debug)]
pub(crate) struct Samples {
    pub(crate) sampler: RateSampler,
    pub(crate) rtt: RttEstimator,
    /// The last logged values, which replace our own estimates.
    pub(crate) logged: Metrics,
    pub(crate) mss: u64,
}

/// An ACK of new data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivered {
    pub(crate) bytes: u64,
    pub(crate) prior_in_flight: u64,
    pub(crate) in_flight: u64,
    pub(crate) lost: u64,
    pub(crate) ce: u64,
    pub(crate) rtt: Option<Duration>,
    pub(crate) rate: RateSample,
}

impl Samples {
    pub(crate) fn new(mss: u64) -> Self {
        Self { sampler: RateSampler::default(), rtt: RttEstimator::sampling(), logged: Metrics::default(), mss }
    }

    /// A packet of `bytes` is sent while `in_flight` bytes are in flight.
    pub(crate) fn sent(&mut self, now: Time, bytes: u64, in_flight: u64) -> Segment {
        if in_flight == 0 {
            self.sampler.start(now);
        }
        self.sampler.new_segment(now, bytes.min(u64::from(u16::MAX)) as u32)
    }

    pub(crate) fn srtt(&self) -> Duration {
        self.logged.srtt.unwrap_or(self.rtt.srtt())
    }

    fn min_rtt(&self) -> Duration {
        self.logged.min_rtt.unwrap_or(self.rtt.min_rtt())
    }

    /// The report of an ACK to the algorithm.
    pub(crate) fn ack(&mut self, now: Time, delivered: &Delivered, limited: bool, recovering: bool) -> Ack {
        let delivery_rate = self.sampler.generate(now, &delivered.rate, self.rtt.min_or_max());
        Ack {
            now,
            mss: Bytes(self.mss),
            acked: Bytes(delivered.bytes),
            acks: 1,
            interval: Duration::ZERO,
            prior_in_flight: Bytes(delivered.prior_in_flight),
            in_flight: Bytes(delivered.in_flight),
            lost: Bytes(delivered.lost),
            rtt: delivered.rtt,
            srtt: self.srtt(),
            min_rtt: self.min_rtt(),
            delivery_rate,
            delivered: self.sampler.delivered(),
            ce: Bytes(delivered.ce),
            app_limited: self.sampler.is_app_limited(),
            cwnd_limited: limited,
            recovering,
            round: self.sampler.round(),
            feedback: None,
        }
    }

    /// The report of a congestion event with `flight` bytes in flight.
    pub(crate) fn congestion(&self, now: Time, cause: Cause, flight: u64, lost: u64) -> Congestion {
        Congestion {
            now,
            mss: Bytes(self.mss),
            cause,
            restart: cause == Cause::Timeout,
            repeated: false,
            in_flight: Bytes(flight),
            lost: Bytes(lost),
            srtt: self.srtt(),
            min_rtt: self.min_rtt(),
            round: self.sampler.round(),
        }
    }
}
