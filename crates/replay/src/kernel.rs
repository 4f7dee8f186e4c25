//! Replay through the kernel decider: the events as reports of the kernel's datapath, and the decider's windows.

use cwndlab_control::{self as control, Ack, Algorithm, Cause, Change, Congestion, Driver, Sent, Window};
use cwndlab_kernel::{Acked, Decider, Kind, RateSample, Report, Rtt};
use cwndlab_units::{Bytes, CaState, Duration};

use crate::backend::{Replayed, ReplayedWindow};
use crate::event_log::{take_entries, EventLog, Recorder, SharedEntries};

/// The kernel's state of a connection, reconstructed from the recorded events.
struct Datapath {
    mss: u64,
    state: CaState,
    /// Bytes sent for the first time.
    nxt: u64,
    round: u64,
    round_end: u64,
    delivered: u64,
    /// Segments sent since the last report.
    sent: u32,
    /// Smoothed and minimum RTT; each report has its own sample.
    rtt: Rtt,
    in_flight: u64,
}

/// Replays the log through a new decider.
#[must_use]
pub fn replay(algorithm: &Algorithm, log: &EventLog) -> Replayed {
    let driver = || Driver::of(algorithm, &log.path);
    let mut replayed = replay_on(log, driver(), |report| report);
    replayed.depends_on_sends = depends_on_sends(log, driver);
    replayed
}

/// Whether the windows change without reports of sent segments, or if these come with the next report, as one.
fn depends_on_sends(log: &EventLog, driver: impl Fn() -> Driver) -> bool {
    [false, true].into_iter().any(|reported| {
        let mut driver = driver();
        let mut waiting: Option<Sent> = None;
        log.entries.iter().any(|entry| {
            if let control::Report::Sent(sent) = &entry.event {
                let size = waiting.map_or(Bytes::ZERO, |one| one.size) + sent.size;
                waiting = Some(Sent { size, ..*sent });
                return false;
            }
            if let Some(sent) = waiting.take().filter(|_| reported) {
                // The data in flight are those at the time of the report.
                let in_flight = match &entry.event {
                    control::Report::Ack(ack) => ack.in_flight.max(sent.size),
                    _ => sent.in_flight,
                };
                driver.control.on_sent(&Sent { now: entry.event.now(), in_flight, ..sent });
            }
            let _ = driver.deliver(&entry.event);
            driver.control.cwnd() != entry.cwnd
        })
    })
}

/// Replays the log to the algorithm of `driver` through a new decider; `spoil` modifies each report.
#[must_use]
pub fn replay_on(log: &EventLog, driver: Driver, spoil: impl Fn(Report) -> Report) -> Replayed {
    let entries = SharedEntries::default();
    let model_based = driver.model_based;
    let driver = Driver::new(Recorder::wrap(driver.control, &entries), model_based);
    let mut decider = Decider::new(driver, &log.path);
    let mut datapath = Datapath {
        mss: log.path.mss.0,
        state: CaState::Open,
        nxt: 0,
        round: 0,
        round_end: 0,
        delivered: 0,
        sent: 0,
        rtt: Rtt::default(),
        in_flight: 0,
    };
    let mut replayed = Replayed::default();
    for (at, entry) in log.entries.iter().enumerate() {
        let reports = match &entry.event {
            control::Report::Sent(sent) => {
                datapath.sent += 1;
                datapath.nxt += if sent.retransmission { 0 } else { sent.size.0 };
                datapath.in_flight = sent.in_flight.0;
                continue;
            }
            control::Report::Ack(ack) => datapath.ack(ack),
            control::Report::Congestion(event) => vec![datapath.congestion(event)],
            control::Report::Window(window) => datapath.window(window),
        };
        for report in reports {
            decider.on_report(&spoil(report));
        }
        replayed.events.extend(take_entries(&entries).into_iter().map(|one| (at, one.event)));
        // In a reduction the kernel controls the window by PRR, as the simulator's transport does.
        let in_reduction = datapath.state.is_reducing() && !model_based;
        if !in_reduction {
            let segments = u64::from(decider.decision().cwnd);
            replayed.windows.push(ReplayedWindow { at, segments, min_segments: 1 });
        }
    }
    replayed
}

impl Datapath {
    fn segments(&self, bytes: u64) -> u32 {
        bytes.div_ceil(self.mss) as u32
    }

    fn report(&mut self, now: cwndlab_units::Time, kind: Kind) -> Report {
        Report {
            now,
            kind,
            state: self.state,
            sent: std::mem::take(&mut self.sent),
            in_flight: self.segments(self.in_flight),
            rtt: self.rtt,
            delivered: self.segments(self.delivered),
            una: self.delivered.min(self.round_end) as u32,
            nxt: self.nxt as u32,
            mss: self.mss as u32,
            ..Report::default()
        }
    }

    fn ack(&mut self, ack: &Ack) -> Vec<Report> {
        let mut reports = Vec::new();
        if self.state.is_reducing() && !ack.recovering {
            // All data outstanding at the start of the reduction are acknowledged.
            self.state = CaState::Open;
            reports.push(self.report(ack.now, Kind::State { congestion: false, ece: false }));
        }
        (self.rtt.smoothed, self.rtt.min) = (ack.srtt, ack.min_rtt);
        self.delivered = ack.delivered.0;
        self.in_flight = ack.in_flight.0;
        let mut report = self.report(ack.now, Kind::Acks);
        let in_reduction = self.state.is_reducing();
        report.advanced = in_reduction || !ack.recovering;
        self.advance(ack.round, &mut report);
        report.lost_out = u32::from(!report.advanced);
        report.acked = Acked {
            segments: self.segments(ack.acked.0),
            acks: ack.acks,
            interval: ack.interval,
            prior_in_flight: self.segments(ack.prior_in_flight.0),
            lost: self.segments(ack.lost.0),
            ce: self.segments(ack.ce.0),
        };
        report.rtt.latest = ack.rtt;
        report.rate = ack.delivery_rate.map(|rate| RateSample {
            delivered: self.segments(rate.delivered.0),
            interval: rate.interval,
            prior_delivered: self.segments(rate.prior_delivered.0),
            app_limited: rate.app_limited,
        });
        (report.app_limited, report.cwnd_limited) = (ack.app_limited, ack.cwnd_limited);
        reports.push(report);
        reports
    }

    /// Starts a round: data sent after the start of the last round are acknowledged.
    fn advance(&mut self, round: u64, report: &mut Report) {
        if round > self.round {
            report.advanced = true;
            report.una = (self.round_end + self.mss) as u32;
            (self.round, self.round_end) = (round, self.nxt);
        }
    }

    fn congestion(&mut self, event: &Congestion) -> Report {
        self.state = match event.cause {
            Cause::Timeout => CaState::Loss,
            Cause::Ecn => CaState::Cwr,
            Cause::Loss => CaState::Recovery,
        };
        (self.rtt.smoothed, self.rtt.min) = (event.srtt, event.min_rtt);
        let kind = Kind::State { congestion: !event.repeated, ece: event.cause == Cause::Ecn };
        let mut report = self.report(event.now, kind);
        self.advance(event.round, &mut report);
        report.flight = self.segments(event.in_flight.0);
        report.lost_out = self.segments(event.lost.0);
        report
    }

    fn window(&mut self, window: &Window) -> Vec<Report> {
        let kind = match window.change {
            Change::Established => {
                self.rtt.smoothed = window.rtt.unwrap_or(Duration::ZERO);
                Kind::Open
            }
            Change::Undo => Kind::Undo,
            Change::Idle => Kind::Idle(window.idle),
            Change::Recovered => {
                self.state = CaState::Open;
                Kind::State { congestion: false, ece: false }
            }
        };
        let cwnd = self.segments(window.cwnd.0);
        let mut reports = vec![Report { cwnd, ..self.report(window.now, kind) }];
        if window.change == Change::Undo && self.state >= CaState::Cwr {
            self.state = CaState::Open;
            reports.push(Report { cwnd, ..self.report(window.now, Kind::State { congestion: false, ece: false }) });
        }
        reports
    }
}
