//! Short runs of the simulator in which an algorithm meets what paths do.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use cwndlab_control::{Algorithm, Arguments, Build, CongestionControl, Kind, Make, Path, Spec};
use cwndlab_scenario::Scenario;

use crate::event_log::{take_entries, EventLog, Recorder, SharedEntries};

/// A path and what is sent over it.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// Its name.
    pub name: &'static str,
    /// What happens on it.
    pub what: &'static str,
    bottleneck: &'static str,
    flow: &'static str,
    stack: &'static str,
}

/// Segments leave as the window allows, so that what an ACK releases leaves with it; and ECN where a course asks for it.
const STACK: &str = "pacing = \"algorithm\", tso_burst = false";

/// All courses: 10 Mbit/s and 40 ms.
pub const COURSES: &[Course] = &[
    Course {
        name: "clean",
        what: "a queue that never overflows",
        bottleneck: "queue = { capacity = \"4000 packets\" }",
        flow: "",
        stack: "",
    },
    Course {
        name: "loss",
        what: "a queue of half a bandwidth-delay product overflows",
        bottleneck: "queue = { capacity = \"0.5 bdp\" }",
        flow: "",
        stack: "",
    },
    Course {
        name: "marks",
        what: "packets that find more than ten waiting are marked",
        bottleneck: "queue = { kind = \"step-ecn\", capacity = \"4000 packets\", mark_above = 10 }",
        flow: "",
        stack: ", ecn = \"accurate\"",
    },
    Course {
        name: "pauses",
        what: "the application pauses for 300 ms every 200 ms",
        bottleneck: "queue = { capacity = \"4000 packets\" }",
        flow: "workload = { kind = \"on-off\", on = \"200 ms\", off = \"300 ms\" }",
        stack: "",
    },
    Course {
        name: "dark",
        what: "nothing arrives for 800 ms",
        bottleneck: "queue = { capacity = \"4000 packets\" }, schedule = [{ at = \"1 s\", loss = 1.0 }, { at = \"1.8 s\", loss = 0.0 }]",
        flow: "",
        stack: "",
    },
];

impl Course {
    /// The scenario, TOML.
    #[must_use]
    pub fn scenario(&self) -> String {
        let Self { bottleneck, flow, stack, .. } = self;
        format!(
            "schema_version = 1\nduration = \"4 s\"\n\n[dumbbell]\nbottleneck = {{ rate = \"10 Mbps\", delay = \"10 ms\", \
             {bottleneck} }}\n\n[[flow]]\nalgorithm = \"reno\"\nrtt = \"40 ms\"\nstack = {{ {STACK}{stack} }}\n{flow}\n"
        )
    }

    /// What `algorithm` is told on it. Panics where the scenario is wrong: a fault of ours.
    #[must_use]
    pub fn record(&self, algorithm: &Algorithm) -> EventLog {
        let scenario = Scenario::from_toml(&self.scenario(), None).unwrap_or_else(|faults| panic!("{}", faults[0]));
        let (mut plan, _) =
            scenario.plan(&cwndlab_simulator::catalogue()).unwrap_or_else(|faults| panic!("{}", faults[0]));
        let entries = SharedEntries::default();
        let kept = Arc::new(Mutex::new(None));
        let watched = watched(algorithm, Arc::clone(&entries), Arc::clone(&kept));
        let flow = Arc::make_mut(&mut plan.flows[0].kind);
        flow.algorithm = Some(Arc::new(watched));
        if let Some(recovery) = algorithm.recovery_kind() {
            flow.recovery = recovery;
        }
        cwndlab_simulator::run(&plan, 1, &AtomicBool::new(false), None).expect("nobody cancels");
        let path = kept.lock().unwrap_or_else(PoisonError::into_inner).take().expect("a flow was made");
        EventLog { path, entries: take_entries(&entries) }
    }
}

/// Makes the algorithm under a recorder.
#[derive(Debug)]
struct Watch {
    algorithm: Algorithm,
    entries: SharedEntries,
    path: Arc<Mutex<Option<Path>>>,
}

impl Make for Watch {
    fn make(&self, path: &Path, _: &Arguments) -> Box<dyn CongestionControl> {
        *self.path.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.clone());
        Box::new(Recorder::new(self.algorithm.build(path), Arc::clone(&self.entries)))
    }
}

/// The same algorithm with a recorder around it: its entry asks the transport for the same.
fn watched(algorithm: &Algorithm, entries: SharedEntries, path: Arc<Mutex<Option<Path>>>) -> Algorithm {
    // Entries live as long as the program; one per recording stays, some hundred bytes.
    let maker: &'static Watch = Box::leak(Box::new(Watch { algorithm: algorithm.clone(), entries, path }));
    let needs: Vec<_> = algorithm.all_needs().collect();
    let spec: &'static Spec = Box::leak(Box::new(Spec {
        kind: Kind::Whole,
        build: Build::Dynamic(maker),
        needs: Box::leak(needs.into_boxed_slice()),
        ..*algorithm.growth.spec
    }));
    let mut watched = algorithm.clone();
    watched.growth.spec = spec;
    watched.slow_start = None;
    watched
}
