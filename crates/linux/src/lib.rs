//! The Linux interfaces that the engines share: namespaces, TUN devices, netlink, sockets, `TCP_INFO`, scheduling.
//!
//! Each module wraps one interface of the kernel, names its man page, and contains the `unsafe` blocks of its system
//! calls, so that most crates above it need none. The crate has no notion of scenarios, links or algorithms.
//!
//! - [`fault`]: the error type;
//! - [`privileges`]: capabilities and user namespaces;
//! - [`namespace`], [`pid_namespace`]: network and PID namespaces;
//! - [`interface`], [`tun`], [`netlink`]: devices, addresses, routes;
//! - [`socket`], [`tcp_info`], [`sock_diag`], [`netstat`]: TCP sockets and their state;
//! - [`sysctl`], [`rlimit`]: settings and limits;
//! - [`realtime`], [`poll`], [`clock`]: scheduling and time;
//! - [`memory`]: the allocator.

pub mod clock;
pub mod fault;
pub mod interface;
pub mod memory;
pub mod namespace;
pub mod netlink;
pub mod netstat;
pub mod pid_namespace;
pub mod poll;
pub mod privileges;
pub mod realtime;
pub mod rlimit;
pub mod sock_diag;
pub mod socket;
pub mod sysctl;
pub mod tcp_info;
pub mod tun;
