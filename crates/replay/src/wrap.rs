//! Algorithms of a flow inside a wrapper that observes them.

use std::fmt;
use std::sync::Arc;

use cwndlab_control::{Algorithm, Arguments, Build, CongestionControl, Kind, Make, Path, Spec};
use cwndlab_scenario::plan::Plan;

/// Makes the wrapper of a new algorithm. A flow with several connections has an algorithm for each.
pub trait Wrap: fmt::Debug + Send + Sync {
    /// Wraps `inner`, the algorithm of a new connection. The wrapper must have the same windows and rates.
    fn wrap(&self, inner: Box<dyn CongestionControl>, path: &Path) -> Box<dyn CongestionControl>;
}

/// The constructor of an algorithm with its wrapper.
#[derive(Debug)]
struct Wrapper<W> {
    algorithm: Algorithm,
    wrap: W,
}

impl<W: Wrap> Make for Wrapper<W> {
    fn make(&self, path: &Path, _: &Arguments) -> Box<dyn CongestionControl> {
        self.wrap.wrap(self.algorithm.build(path), path)
    }
}

/// The algorithm in a wrapper, with the same requirements on the transport.
#[must_use]
pub fn wrapped<W: Wrap + 'static>(algorithm: &Algorithm, wrap: W) -> Algorithm {
    // A specification has a static lifetime, so that each wrapped algorithm leaks a few hundred bytes.
    let maker: &'static Wrapper<W> = Box::leak(Box::new(Wrapper { algorithm: algorithm.clone(), wrap }));
    let needs: Vec<_> = algorithm.all_needs().collect();
    let spec: &'static Spec = Box::leak(Box::new(Spec {
        kind: Kind::Whole,
        build: Build::Dynamic(maker),
        needs: Box::leak(needs.into_boxed_slice()),
        ..*algorithm.growth.spec
    }));
    let mut wrapped = algorithm.clone();
    wrapped.growth.spec = spec;
    wrapped.slow_start = None;
    wrapped
}

/// Wraps the algorithm of one flow of a plan, and returns it. `None` for a flow without one.
pub fn wrap_flow<W: Wrap + 'static>(plan: &mut Plan, flow: usize, wrap: W) -> Option<Arc<Algorithm>> {
    let algorithm = plan.flows[flow].algorithm.clone()?;
    let kind = Arc::make_mut(&mut plan.flows[flow].kind);
    kind.algorithm = Some(Arc::new(wrapped(&algorithm, wrap)));
    Some(algorithm)
}
