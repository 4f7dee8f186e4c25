//! The names under which the kernel has a flow's congestion control.

use cwndlab_control::kernel_name::{self, kernel_name, kernels_own};
use cwndlab_linux::fault::{fault, Fault};
use cwndlab_linux::sysctl::available_congestion_controls;
use cwndlab_scenario::plan::FlowPlan;

/// Whose congestion control the emulator's own endpoints use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Datapath {
    /// The kernel's own, where it has the flow's algorithm.
    #[default]
    Kernel,
    /// Ours in the kernel's TCP, under the names by which [`kernel_name()`] registers them.
    Ours,
}

/// The kernel's name for the algorithm that programs of a path use: the kernel's own where it is the same algorithm,
/// else ours where it is registered.
///
/// # Errors
///
/// A fault where this kernel has neither.
pub fn kernel_algorithm(name: &str) -> Result<String, Fault> {
    let (known, catalogue) = (available_congestion_controls(), cwndlab_algorithms::catalogue());
    kernel_name::resolve(name, &catalogue, &known).ok_or_else(|| {
        let has = known.iter().map(|one| kernel_name::library_name(one)).collect::<Vec<_>>().join(", ");
        let hint = kernel_name::misnamed(name).unwrap_or_else(|| match catalogue.parse(name) {
            Ok(_) => format!("`cwndlab kernel run --algorithm '{name}'` registers it while it runs"),
            Err(fault) => fault.hint,
        });
        fault("--algorithm", format!("this kernel has no '{name}'; it has {has}"), hint)
    })
}

/// The kernel's name for the algorithm of flow number `index`; empty for a flow over UDP.
pub(crate) fn of_flow(index: usize, flow: &FlowPlan, datapath: Datapath) -> Result<String, Fault> {
    let Some(algorithm) = &flow.algorithm else { return Ok(String::new()) };
    let ours = algorithm.growth.spec.name;
    let known = available_congestion_controls();
    let has = |name: &str| known.iter().any(|one| one == name);
    let own = kernels_own(algorithm).filter(|_| datapath == Datapath::Kernel);
    if let Some(own) = own.filter(|own| has(own)) {
        return Ok(own.to_owned());
    }
    let name = kernel_name(algorithm);
    if has(&name) {
        return Ok(name);
    }
    let name = own.map_or(name, str::to_owned);
    let known = known.join(" ");
    let place = format!("flow[{index}].algorithm");
    let hint = match name.strip_prefix(kernel_name::PREFIX) {
        Some(_) => format!("`cwndlab kernel run --algorithm '{}'` registers it while it runs", flow.algorithm_text),
        None => "choose another algorithm, or ours in the kernel: --datapath cwndlab".to_owned(),
    };
    Err(fault(place, format!("this kernel has no '{name}' for '{ours}'; it has {known}"), hint))
}
