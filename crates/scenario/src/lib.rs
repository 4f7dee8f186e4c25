//! The question: a scenario as people write it, checked, and the plan that engines run.

pub mod plan;
