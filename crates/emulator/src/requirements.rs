//! What an emulation requires of a plan and of the kernel.

use cwndlab_linux::sysctl;
use cwndlab_scenario::plan::{FlowPlan, Plan};
use cwndlab_traffic::workloads::Workload;
use cwndlab_units::{Bytes, Fault};

use crate::addresses::Family;

/// RFC 791: every host accepts datagrams of 576 bytes.
const MIN_MTU: Bytes = Bytes(576);
/// RFC 8200, section 5: every link of IPv6 has at least this MTU. The kernel has no IPv6 on a device with less.
const MIN_MTU_V6: Bytes = Bytes(1280);

/// The MTU of the path: the largest segment of the flows with its headers.
pub(crate) fn path_mtu(plan: &Plan) -> Bytes {
    let largest = plan.flows.iter().map(|flow| flow.stack.mss + flow.stack.header).max();
    largest.unwrap_or(Bytes(1500)).max(MIN_MTU)
}

/// Fails where the path has no IPv6. `place` is the option or the field that asks for it.
pub(crate) fn require_ipv6(plan: &Plan, place: &str) -> Result<(), Fault> {
    let mtu = path_mtu(plan);
    if mtu < MIN_MTU_V6 {
        let what = format!("IPv6 needs an MTU of {} bytes, the path has {}", MIN_MTU_V6.0, mtu.0);
        let hint = "a flow's stack.mss and stack.header make the MTU: write larger ones, or use IPv4";
        return Err(Fault::new(place, what, hint));
    }
    if sysctl::read("net.ipv6.conf.all.disable_ipv6").is_none() {
        return Err(Fault::new(place, "this kernel has no IPv6", "boot it without ipv6.disable=1, or use IPv4"));
    }
    Ok(())
}

/// Fails for a flow over QUIC, which kernels do not have.
fn check_transports(plan: &Plan) -> Result<(), Fault> {
    match plan.flows.iter().position(|flow| flow.workload.is_quic()) {
        Some(index) => {
            let hint = "write 'http = \"2\"', or run the scenario in the simulator";
            Err(Fault::new(
                format!("flow[{index}].workload.http"),
                "the kernel has no QUIC, which HTTP/3 runs over",
                hint,
            ))
        }
        None => Ok(()),
    }
}

/// Fails for a plan that records what an emulation does not see, or does what a socket cannot.
fn check_records(plan: &Plan) -> Result<(), Fault> {
    if let Some(flow) = plan.flows.iter().find(|flow| matches!(flow.workload, Workload::Call(_))) {
        let what = "a socket of the kernel has no streams with priorities";
        return Err(Fault::new(format!("flow {}", flow.name), what, "run the scenario in the simulator"));
    }
    if plan.packets {
        let hint = "remove it; capture on the device path0 instead";
        return Err(Fault::new("packets", "the emulator does not record packets", hint));
    }
    if plan.named_values.is_some() {
        let what = "a kernel does not report the variables of its algorithms";
        return Err(Fault::new("named_values", what, "remove it, or run the scenario in the simulator"));
    }
    Ok(())
}

/// Fails for a plan that cannot be emulated.
/// `programs`: programs are the endpoints.
pub(crate) fn check_plan(plan: &Plan, programs: bool) -> Result<(), Fault> {
    check_records(plan)?;
    if !programs {
        check_transports(plan)?;
    }
    check_families(plan)
}

/// Fails for the first TCP flow over IPv6 where the path has no IPv6.
fn check_families(plan: &Plan) -> Result<(), Fault> {
    let is_ipv6 = |flow: &FlowPlan| Family::of_headers(flow.stack.header) == Family::V6;
    match plan.flows.iter().position(is_ipv6) {
        Some(index) => require_ipv6(plan, &format!("flow[{index}].stack.header")),
        None => Ok(()),
    }
}
