//! The kernel's names of the flows' congestion controls.

use cwndlab_control::kernel_name::{self, kernel_name, kernels_own};
use cwndlab_linux::fault::{fault, Fault};
use cwndlab_linux::sysctl::available_congestion_controls;
use cwndlab_scenario::plan::FlowPlan;

/// The implementation of congestion control that the emulator's own endpoints use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Datapath {
    /// The kernel's own implementation, where the kernel has the flow's algorithm.
    #[default]
    Kernel,
    /// cwndlab's implementation in the kernel's TCP, registered under [`kernel_name()`].
    Cwndlab,
}

/// The kernel's name for the algorithm that programs of a path use: the kernel's own implementation where it is the
/// same algorithm, else cwndlab's implementation where it is registered.
///
/// # Errors
///
/// A fault where this kernel has neither.
pub fn kernel_algorithm(name: &str) -> Result<String, Fault> {
    kernel_algorithm_of(name, &available_congestion_controls())
}

/// [`kernel_algorithm`] of a kernel that has the algorithms `known`.
fn kernel_algorithm_of(name: &str, known: &[String]) -> Result<String, Fault> {
    let catalogue = cwndlab_algorithms::catalogue();
    kernel_name::resolve(name, &catalogue, known).ok_or_else(|| {
        let available = known.iter().map(|one| kernel_name::library_name(one)).collect::<Vec<_>>().join(", ");
        let hint = kernel_name::misnamed(name).unwrap_or_else(|| match catalogue.parse(name) {
            Ok(_) => format!("`cwndlab kernel run --algorithm '{name}'` registers it while it runs"),
            Err(fault) => fault.hint,
        });
        fault("--algorithm", format!("this kernel has no '{name}'; it has {available}"), hint)
    })
}

/// The kernel's name for the algorithm of flow number `index`; empty for a flow over UDP.
pub(crate) fn of_flow(index: usize, flow: &FlowPlan, datapath: Datapath) -> Result<String, Fault> {
    let Some(algorithm) = &flow.algorithm else { return Ok(String::new()) };
    let requested = algorithm.growth.spec.name;
    let known = available_congestion_controls();
    let is_available = |name: &str| known.iter().any(|one| one == name);
    let native = kernels_own(algorithm).filter(|_| datapath == Datapath::Kernel);
    if let Some(native) = native.filter(|native| is_available(native)) {
        return Ok(native.to_owned());
    }
    let name = kernel_name(algorithm);
    if is_available(&name) {
        return Ok(name);
    }
    let name = native.map_or(name, str::to_owned);
    let known = known.join(" ");
    let place = format!("flow[{index}].algorithm");
    let hint = match name.strip_prefix(kernel_name::PREFIX) {
        Some(_) => format!("`cwndlab kernel run --algorithm '{}'` registers it while it runs", flow.algorithm_text),
        None => "choose another algorithm, or cwndlab's in the kernel: --datapath cwndlab".to_owned(),
    };
    Err(fault(place, format!("this kernel has no '{name}' for '{requested}'; it has {known}"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One alias table: `bbr` is `bbr3`; Linux' module of that name is BBRv1 (tcp_bbr.c).
    #[test]
    fn bbr_is_bbr3_also_where_the_kernel_has_a_bbr_of_its_own() {
        let mut known: Vec<String> = ["reno", "bbr", "cubic"].map(str::to_owned).into();
        let fault = kernel_algorithm_of("bbr", &known).expect_err("nobody has registered bbr3");
        assert_eq!(fault.what, "this kernel has no 'bbr'; it has reno, bbr1, cubic");
        assert!(fault.hint.contains("the kernel's own bbr is 'bbr1'"), "{}", fault.hint);
        assert_eq!(kernel_algorithm_of("bbr1", &known).as_deref(), Ok("bbr"));
        known.push("cwndlab_bbr3".to_owned());
        assert_eq!(kernel_algorithm_of("bbr", &known).as_deref(), Ok("cwndlab_bbr3"));
    }
}
