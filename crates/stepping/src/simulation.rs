//! A run as an object.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use cwndlab_control::Constructor;
use cwndlab_learned::{external, Action, External, Report};
use cwndlab_records::rows::Records;
use cwndlab_scenario::plan::Plan;
use cwndlab_simulator::{run_stopping, FlowState, Stop};
use cwndlab_traffic::application::ApplicationKind;
use cwndlab_units::{Bytes, Fault, FaultKind, Time};

use crate::port::{Owner, OwnersStops, Port, Resume, Suspended};

/// Size of the stack of a run, bytes; the system provides the pages that are used. The engine uses a few kilobytes.
const STACK: usize = 256 * 1024;

fn fault<T>(place: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::new(place, what, hint))
}

/// A decision that is due.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The flow.
    pub flow: usize,
    /// The report on the time since its last decision.
    pub report: Report,
}

/// The state of a flow.
#[derive(Clone, Debug)]
pub enum State {
    /// Complete, at a stop.
    Full(Box<FlowState>),
    /// At a decision of this flow.
    Report(Box<Report>),
}

/// Where the run is.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // a decision allocates nothing
enum Place {
    /// Before its first event, between two events, or after a panic.
    Between,
    /// At a decision; the action is applied when the run continues.
    Decision(Decision, Action),
    /// At the time of a stop.
    Stopped,
    /// After its last event.
    End,
}

type Run = Coroutine<Resume, Suspended, Result<Records, Fault>>;

/// A simulation that is stepped.
///
/// Its flows with the algorithm `external` are decided by its owner. The records are those of a run without stops in
/// which the algorithms decide the same.
pub struct Simulation {
    run: Run,
    port: Arc<Port>,
    place: Place,
    now: Time,
    end: Time,
    /// By flow: payload of a segment; `None` where the flow is not `external`.
    external: Vec<Option<Bytes>>,
    records: Option<Records>,
}

// SAFETY: `Coroutine` is not `Send` because of the values on its stack. Those of a suspended run are a plan, the state of
// the engine, whose algorithms are `Send`, and references to both; nothing refers to the thread.
unsafe impl Send for Simulation {}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation").field("now", &self.now).field("place", &self.place).finish_non_exhaustive()
    }
}

impl Simulation {
    /// The simulation of a plan with this seed, before its first event.
    ///
    /// # Errors
    /// An `external` flow whose workload has several connections.
    pub fn new(mut plan: Plan, seed: u64) -> Result<Self, Fault> {
        let port = Arc::new(Port::new(plan.flows.len()));
        let mut external = vec![None; plan.flows.len()];
        for (index, flow) in plan.flows.iter_mut().enumerate() {
            let Some(algorithm) = flow.algorithm.clone().filter(|one| one.growth.spec.name == external::SPEC.name)
            else {
                continue;
            };
            if !matches!(flow.workload.application_kind(), ApplicationKind::ByteSource { .. }) {
                return fault(
                    format!("flow[{index}].workload"),
                    "the workload has several connections, and 'external' decides for one",
                    "choose bulk data",
                );
            }
            external[index] = Some(flow.stack.mss);
            let owner = Owner::new(Arc::clone(&port), index);
            Arc::make_mut(&mut flow.kind).constructor = Some(Constructor::new(move |path| {
                let decider = Box::new(owner.clone());
                Box::new(External::new(path, (&algorithm.growth.arguments).into(), Some(decider)))
            }));
        }
        let end = Time::ZERO + plan.duration;
        let Ok(stack) = DefaultStack::new(STACK) else {
            return fault("simulation", "the system has no memory for another stack", "close simulations");
        };
        let inner = Arc::clone(&port);
        let run = Coroutine::with_stack(stack, move |suspender, _| {
            inner.within(suspender, || {
                let mut stops = OwnersStops(Arc::clone(&inner));
                run_stopping(&plan, seed, &AtomicBool::new(false), &mut stops).map(|(records, _)| records)
            })
        });
        Ok(Self { run, port, place: Place::Between, now: Time::ZERO, end, external, records: None })
    }

    /// The time of the last stop or decision.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The flows whose algorithm is `external`.
    pub fn external_flows(&self) -> impl Iterator<Item = usize> + '_ {
        self.external.iter().enumerate().filter(|(_, mss)| mss.is_some()).map(|(index, _)| index)
    }

    /// Payload of a segment of an `external` flow.
    #[must_use]
    pub fn mss(&self, flow: usize) -> Option<Bytes> {
        *self.external.get(flow)?
    }

    /// Whether all events are processed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.place, Place::End)
    }

    /// The decision that is due.
    #[must_use]
    pub fn decision(&self) -> Option<&Decision> {
        match &self.place {
            Place::Decision(decision, _) => Some(decision),
            _ => None,
        }
    }

    /// Continues to the next suspension, which is not a check.
    fn advance(&mut self, stop_at: Time, deciding: bool, stopped: &mut dyn FnMut() -> bool) -> Result<(), Fault> {
        self.port.set_goal(stop_at, deciding);
        let mut action = match std::mem::replace(&mut self.place, Place::Between) {
            Place::Decision(_, action) => action,
            _ => Action::default(),
        };
        if self.run.done() {
            return fault("simulation", "it has ended with an error", "begin another one");
        }
        loop {
            match self.run.resume(Resume::Continue(std::mem::take(&mut action))) {
                CoroutineResult::Yield(Suspended::Decision(flow, report)) => {
                    self.now = report.now;
                    self.place = Place::Decision(Decision { flow, report }, Action::default());
                    return Ok(());
                }
                CoroutineResult::Yield(Suspended::Stopped(Stop::Time)) => {
                    (self.now, self.place) = (stop_at, Place::Stopped);
                    return Ok(());
                }
                CoroutineResult::Yield(Suspended::Stopped(Stop::Check)) => {
                    if stopped() {
                        let interrupted = Fault::new("simulation", "interrupted", "a further call continues it");
                        return Err(interrupted.of_kind(FaultKind::Cancelled));
                    }
                }
                CoroutineResult::Yield(Suspended::Stopped(Stop::End)) => {
                    (self.now, self.place) = (self.end, Place::End);
                    return Ok(());
                }
                CoroutineResult::Return(Err(fault)) => return Err(fault),
                CoroutineResult::Yield(Suspended::State(_)) | CoroutineResult::Return(Ok(_)) => {
                    unreachable!("a run stops at its end, or ends with a fault")
                }
            }
        }
    }

    /// Processes the events up to this time, or up to the end of the run. Decisions that are due on the way change
    /// nothing. A time that is not later than [`now`](Self::now) has no effect. Where `stopped` returns true, which is
    /// called every few milliseconds, the call ends with an error, and a further one continues the run.
    pub fn run_until(&mut self, time: Time, stopped: &mut dyn FnMut() -> bool) -> Result<(), Fault> {
        if time <= self.now || self.is_over() {
            return Ok(());
        }
        self.advance(time.min(self.end), false, stopped)
    }

    /// Continues to the next decision of any `external` flow; `None` at the end of the run.
    ///
    /// With one `external` flow its end may be ahead of the clock: its decision knows all that the flow knows then, and
    /// the rest of the network is behind.
    pub fn next_decision(&mut self, stopped: &mut dyn FnMut() -> bool) -> Result<Option<&Decision>, Fault> {
        if !self.is_over() {
            self.advance(Time::MAX, true, stopped)?;
        }
        Ok(self.decision())
    }

    /// The state of a flow.
    ///
    /// # Errors
    /// There is no such flow, it has not started, or the run is at a decision of another flow.
    pub fn state(&mut self, flow: usize) -> Result<State, Fault> {
        self.check_flow(flow)?;
        let not_started =
            || fault(format!("flow[{flow}]"), format!("it has not started at {} s", seconds(self.now)), "");
        match &self.place {
            Place::Decision(decision, _) if decision.flow == flow => {
                return Ok(State::Report(Box::new(decision.report.clone())))
            }
            Place::Decision(decision, _) => {
                return fault(
                    format!("flow[{flow}]"),
                    format!("its state is not known at a decision of flow {}", decision.flow),
                    "call run_until with a later time first",
                )
            }
            Place::Between if self.now == Time::ZERO => return not_started(),
            Place::Between => {
                return fault(format!("flow[{flow}]"), "its state is not known after an interruption", "call run_until")
            }
            Place::Stopped | Place::End if self.records.is_some() => {
                return fault(format!("flow[{flow}]"), "the run is over", "read its records")
            }
            Place::Stopped | Place::End => {}
        }
        match self.run.resume(Resume::Show(flow)) {
            CoroutineResult::Yield(Suspended::State(Some(state))) => Ok(State::Full(state)),
            CoroutineResult::Yield(Suspended::State(None)) => not_started(),
            _ => unreachable!("a stopped run shows its state"),
        }
    }

    /// Changes window or pacing rate of an `external` flow: at its decision immediately, else at its next event.
    pub fn set(&mut self, flow: usize, action: Action) -> Result<(), Fault> {
        self.check_flow(flow)?;
        if self.external[flow].is_none() {
            return fault(
                format!("flow[{flow}].algorithm"),
                "it decides itself",
                "only the algorithm 'external' is decided from outside",
            );
        }
        match &mut self.place {
            Place::Decision(decision, actions) if decision.flow == flow => *actions = actions.then(action),
            _ => self.port.set_pending(flow, action),
        }
        Ok(())
    }

    /// Processes all events and returns the records. Decisions that are due on the way change nothing.
    pub fn records(&mut self, stopped: &mut dyn FnMut() -> bool) -> Result<&Records, Fault> {
        while !self.is_over() {
            self.advance(Time::MAX, false, stopped)?;
        }
        if self.records.is_none() {
            match self.run.resume(Resume::Continue(Action::default())) {
                CoroutineResult::Return(Ok(records)) => self.records = Some(records),
                _ => unreachable!("a run that is not cancelled returns its records after its end"),
            }
        }
        Ok(self.records.get_or_insert_default())
    }

    fn check_flow(&self, flow: usize) -> Result<(), Fault> {
        match self.external.len() {
            flows if flow < flows => Ok(()),
            flows => fault(format!("flow[{flow}]"), "there is no such flow", format!("the scenario has {flows}")),
        }
    }
}

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}
