//! Bounds of the retransmission timeout.

use crate::Duration;

/// The timeout before the first RTT sample (RFC 6298, section 2.1; Linux, `TCP_TIMEOUT_INIT`).
pub const INITIAL: Duration = Duration::from_secs(1);
/// The minimum of RFC 6298 (section 2.4).
pub const RFC_MIN: Duration = Duration::from_secs(1);
/// Linux' minimum of the variance term (`TCP_RTO_MIN` of `include/net/tcp.h`).
pub const LINUX_MIN: Duration = Duration::from_millis(200);
/// Linux' maximum (`TCP_RTO_MAX` of `include/net/tcp.h`).
pub const LINUX_MAX: Duration = Duration::from_secs(120);
