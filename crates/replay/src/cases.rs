//! Short simulated runs in which the events of an algorithm are recorded.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use cwndlab_control::{Algorithm, CongestionControl, Path};
use cwndlab_scenario::Scenario;

use crate::event_log::{take_entries, EventLog, Recorder, SharedEntries};
use crate::wrap::{wrap_flow, Wrap};

/// A simulated run: a path and a workload.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name of the case.
    pub name: &'static str,
    /// Description of the case.
    pub what: &'static str,
    bottleneck: &'static str,
    flow: &'static str,
    stack: &'static str,
}

/// Segments are sent as soon as the window permits, so that an ACK and the segments that it releases have the same
/// time.
const STACK: &str = "pacing = \"algorithm\", tso_burst = false";

/// All cases, with 10 Mbit/s and 40 ms.
pub const CASES: &[Case] = &[
    Case {
        name: "clean",
        what: "a queue that never overflows",
        bottleneck: "queue = { capacity = \"4000 packets\" }",
        flow: "",
        stack: "",
    },
    Case {
        name: "loss",
        what: "a queue of half a bandwidth-delay product overflows",
        bottleneck: "queue = { capacity = \"0.5 bdp\" }",
        flow: "",
        stack: "",
    },
    Case {
        name: "marks",
        what: "a packet is marked if more than ten packets wait",
        bottleneck: "queue = { kind = \"step-ecn\", capacity = \"4000 packets\", mark_above = 10 }",
        flow: "",
        stack: ", ecn = \"accurate\"",
    },
    Case {
        name: "pauses",
        what: "the application sends for 200 ms and pauses for 300 ms",
        bottleneck: "queue = { capacity = \"4000 packets\" }",
        flow: "workload = { kind = \"on-off\", on = \"200 ms\", off = \"300 ms\" }",
        stack: "",
    },
    Case {
        name: "outage",
        what: "all packets are lost for 800 ms",
        bottleneck: "queue = { capacity = \"4000 packets\" }, schedule = [{ at = \"1 s\", loss = 1.0 }, { at = \"1.8 s\", loss = 0.0 }]",
        flow: "",
        stack: "",
    },
];

impl Case {
    /// The scenario in TOML.
    #[must_use]
    pub fn scenario(&self) -> String {
        let Self { bottleneck, flow, stack, .. } = self;
        format!(
            "schema_version = 1\nduration = \"4 s\"\n\n[dumbbell]\nbottleneck = {{ rate = \"10 Mbps\", delay = \"10 ms\", \
             {bottleneck} }}\n\n[[flow]]\nalgorithm = \"reno\"\nrtt = \"40 ms\"\nstack = {{ {STACK}{stack} }}\n{flow}\n"
        )
    }

    /// Records the events of `algorithm` in this case.
    ///
    /// # Panics
    /// If the scenario is invalid, which is an error of the program.
    #[must_use]
    pub fn record(&self, algorithm: &Algorithm) -> EventLog {
        let scenario = Scenario::from_toml(&self.scenario(), None).unwrap_or_else(|faults| panic!("{}", faults[0]));
        let (mut plan, _) =
            scenario.plan(&cwndlab_simulator::catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
        let entries = SharedEntries::default();
        let path = Arc::new(Mutex::new(None));
        let flow = Arc::make_mut(&mut plan.flows[0.into()].kind);
        flow.algorithm = Some(Arc::new(algorithm.clone()));
        if let Some(recovery) = algorithm.recovery_kind() {
            flow.recovery = recovery;
        }
        wrap_flow(&mut plan, 0.into(), WithRecorder { entries: Arc::clone(&entries), path: Arc::clone(&path) });
        cwndlab_simulator::run(&plan, 1, &AtomicBool::new(false), None).expect("the run is not cancelled");
        let path = path.lock().unwrap_or_else(PoisonError::into_inner).take().expect("the flow was created");
        EventLog { path, entries: take_entries(&entries) }
    }
}

/// Records the events of every connection in one log, and the path of the last one.
#[derive(Debug)]
struct WithRecorder {
    entries: SharedEntries,
    path: Arc<Mutex<Option<Path>>>,
}

impl Wrap for WithRecorder {
    fn wrap(&self, inner: Box<dyn CongestionControl>, path: &Path) -> Box<dyn CongestionControl> {
        *self.path.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.clone());
        Recorder::wrap(inner, &self.entries)
    }
}
