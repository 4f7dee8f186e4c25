//! Algorithms of a flow inside a wrapper that observes them.

use std::fmt;
use std::sync::Arc;

use cwndlab_control::{Algorithm, CongestionControl, Constructor, Path};
use cwndlab_scenario::plan::Plan;
use cwndlab_units::FlowId;

/// Makes the wrapper of a new algorithm. A flow with several connections has an algorithm for each.
pub trait Wrap: fmt::Debug + Send + Sync {
    /// Wraps `inner`, the algorithm of a new connection. The wrapper must have the same windows and rates.
    fn wrap(&self, inner: Box<dyn CongestionControl>, path: &Path) -> Box<dyn CongestionControl>;
}

/// Wraps the algorithm of one flow of a plan, and returns it. `None` for a flow without one.
pub fn wrap_flow<W: Wrap + 'static>(plan: &mut Plan, flow: FlowId, wrap: W) -> Option<Arc<Algorithm>> {
    let algorithm = plan.flows[flow].algorithm.clone()?;
    let wrapped = Arc::clone(&algorithm);
    let constructor = Constructor::new(move |path| wrap.wrap(wrapped.build(path), path));
    Arc::make_mut(&mut plan.flows[flow].kind).constructor = Some(constructor);
    Some(algorithm)
}
