//! The kernel's names of the flows' congestion controls.

use cwndlab_control::kernel_name::{self, kernel_name, kernels_own};
use cwndlab_linux::sysctl::{self, available_congestion_controls};
use cwndlab_scenario::plan::{FlowPlan, Plan};
use cwndlab_units::{Fault, FlowId};

/// The implementation of congestion control that the emulator's own endpoints use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Datapath {
    /// The kernel's own implementation, where the kernel has the flow's algorithm.
    #[default]
    Kernel,
    /// cwndlab's implementation in the kernel's TCP, registered under [`kernel_name()`].
    Cwndlab,
}

/// The congestion control of the TCP connections that programs open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProgramAlgorithm {
    /// The programs select it; the kernel's default where they select none.
    #[default]
    Program,
    /// For connections to the address of a flow, the kernel's algorithm for that flow; where the kernel has none, as
    /// [`ProgramAlgorithm::Program`].
    Scenario,
    /// The kernel's algorithm of this name, for all connections.
    Kernel(String),
}

impl ProgramAlgorithm {
    /// The kernel's name for connections to each flow's address; `None` leaves the choice to the programs.
    pub(crate) fn by_flow(&self, plan: &Plan) -> Vec<Option<String>> {
        let known = available_congestion_controls();
        let of_scenario = |flow: &FlowPlan| available(flow, Datapath::Kernel, &known);
        plan.flows
            .iter()
            .map(|flow| match self {
                Self::Program => None,
                Self::Scenario => of_scenario(flow),
                Self::Kernel(name) => Some(name.clone()),
            })
            .collect()
    }

    /// The congestion control of programs, as lines for the notes.
    pub(crate) fn notes(&self, plan: &Plan) -> Vec<String> {
        let default = sysctl::read("net.ipv4.tcp_congestion_control").unwrap_or_default();
        let own = format!("their own choice, by default {}", kernel_name::library_name(&default));
        match self {
            Self::Program => vec![format!("congestion control of programs: {own}")],
            Self::Kernel(name) => {
                vec![format!("congestion control of programs: {}", kernel_name::library_name(name))]
            }
            Self::Scenario => self.scenario_notes(plan, &own),
        }
    }

    /// [`Self::notes`] of the scenario's algorithms: a line for each of them, with the flows that have it.
    fn scenario_notes(&self, plan: &Plan, own: &str) -> Vec<String> {
        let mut lines: Vec<(String, Vec<String>)> = Vec::new();
        for (flow, name) in plan.flows.iter().zip(self.by_flow(plan)) {
            let Some(algorithm) = &flow.algorithm else { continue };
            let line = if let Some(name) = name {
                format!("{}, as in the scenario", kernel_name::library_name(&name))
            } else if let Err(fault) = kernel_name::check(algorithm) {
                format!("{own}: {}", fault.what)
            } else {
                let requested = algorithm.growth.spec.name;
                let text = &flow.algorithm_text;
                let text = text.split_once('/').map_or(&**text, |(without_recovery, _)| without_recovery);
                format!(
                    "{own}: this kernel has no '{requested}'; `cwndlab kernel run --algorithm '{text}'` registers it \
                     while it runs"
                )
            };
            match lines.iter_mut().find(|(known, _)| *known == line) {
                Some((_, flows)) => flows.push(flow.name.to_string()),
                None => lines.push((line, vec![flow.name.to_string()])),
            }
        }
        let one = lines.len() == 1;
        let all = |flows: &[String]| if one { String::new() } else { format!(" to {}", flows.join(", ")) };
        lines.iter().map(|(line, flows)| format!("congestion control of programs{}: {line}", all(flows))).collect()
    }
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
            Ok(algorithm) => kernel_name::check(&algorithm).map_or_else(
                |fault| format!("{}: {}", fault.what, fault.hint),
                |()| format!("`cwndlab kernel run --algorithm '{name}'` registers it while it runs"),
            ),
            Err(fault) => fault.hint,
        });
        Fault::new("--algorithm", format!("this kernel has no '{name}'; it has {available}"), hint)
    })
}

/// The name among `known` of a flow's algorithm: the kernel's own implementation, else cwndlab's.
fn available(flow: &FlowPlan, datapath: Datapath, known: &[String]) -> Option<String> {
    let algorithm = flow.algorithm.as_ref().filter(|algorithm| kernel_name::check(algorithm).is_ok())?;
    let native = kernels_own(algorithm).filter(|_| datapath == Datapath::Kernel).map(str::to_owned);
    let is_known = |name: &String| known.contains(name);
    native.filter(is_known).or_else(|| Some(kernel_name(algorithm)).filter(is_known))
}

/// The kernel's name for the algorithm of a flow; empty for a flow over UDP.
pub(crate) fn of_flow(id: FlowId, flow: &FlowPlan, datapath: Datapath) -> Result<String, Fault> {
    let Some(algorithm) = &flow.algorithm else { return Ok(String::new()) };
    let place = format!("flow[{id}].algorithm");
    kernel_name::check(algorithm).map_err(|fault| fault.at(&place))?;
    let requested = algorithm.growth.spec.name;
    let known = available_congestion_controls();
    if let Some(name) = available(flow, datapath, &known) {
        return Ok(name);
    }
    let native = kernels_own(algorithm).filter(|_| datapath == Datapath::Kernel);
    let name = native.map_or_else(|| kernel_name(algorithm), str::to_owned);
    let known = known.join(" ");
    let hint = match name.strip_prefix(kernel_name::PREFIX) {
        Some(_) => format!("`cwndlab kernel run --algorithm '{}'` registers it while it runs", flow.algorithm_text),
        None => "choose another algorithm, or cwndlab's in the kernel: --datapath cwndlab".to_owned(),
    };
    Err(Fault::new(place, format!("this kernel has no '{name}' for '{requested}'; it has {known}"), hint))
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
