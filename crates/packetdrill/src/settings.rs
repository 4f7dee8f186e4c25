//! What options, commands and socket options set: the parameters of the stack and of the interpreter.

use cwndlab_transport::stack::PeerEcn;
use cwndlab_units::Duration;

use crate::script::ScriptOption;

/// ECN (`net.ipv4.tcp_ecn`; Linux, `enum tcp_ecn_mode`): the best form that is accepted, and the one that is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EcnMode {
    pub(crate) accepts: PeerEcn,
    pub(crate) requests: PeerEcn,
}

impl EcnMode {
    pub(crate) const OFF: Self = Self { accepts: PeerEcn::Off, requests: PeerEcn::Off };

    /// The mode with this number.
    pub(crate) fn numbered(value: &str) -> Option<Self> {
        let (accepts, requests) = match value {
            "0" => (PeerEcn::Off, PeerEcn::Off),
            "1" => (PeerEcn::Classic, PeerEcn::Classic),
            "2" => (PeerEcn::Classic, PeerEcn::Off),
            "3" => (PeerEcn::Accurate, PeerEcn::Accurate),
            "4" => (PeerEcn::Accurate, PeerEcn::Classic),
            "5" => (PeerEcn::Accurate, PeerEcn::Off),
            _ => return None,
        };
        Some(Self { accepts, requests })
    }

    /// Whether Accurate ECN is requested or accepted.
    pub(crate) fn is_accurate(self) -> bool {
        [self.accepts, self.requests].contains(&PeerEcn::Accurate)
    }
}

/// When our side sends the AccECN option (`net.ipv4.tcp_ecn_option`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionSetting {
    /// 0.
    Never,
    /// 1: where a change demands it, and this often per RTT (`tcp_ecn_option_beacon`).
    Sparingly,
    /// 2 and 3: on each packet, once the peer sent one.
    Always,
}

/// Accurate ECN of our side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccEcnSettings {
    pub(crate) option: OptionSetting,
    /// Options per RTT at least, where they are sent sparingly.
    pub(crate) beacon: u32,
    /// The path is tested for changes of the ECN field, and SYNs fall back (`tcp_ecn_fallback`).
    pub(crate) fallback: bool,
}

/// The settings of a script. The default is that of Linux 6.x.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) algorithm: String,
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    pub(crate) window_scaling: bool,
    pub(crate) ecn: EcnMode,
    pub(crate) accecn: AccEcnSettings,
    pub(crate) restart_after_idle: bool,
    pub(crate) tail_loss_probe: bool,
    pub(crate) dup_thresh: u32,
    pub(crate) min_tso_segments: u32,
    /// Small bursts may be deferred (`tcp_tso_win_divisor`).
    pub(crate) tso_deferral: bool,
    /// The queue discipline of the interface is `fq`, which paces.
    pub(crate) paced: bool,
    pub(crate) initial_window: u32,
    pub(crate) min_rto: Option<Duration>,
    /// The largest segment that the socket allows (`TCP_MAXSEG`).
    pub(crate) max_segment: Option<u64>,
    pub(crate) mtu: u64,
    /// Nagle's algorithm (`TCP_NODELAY`).
    pub(crate) nagle: bool,
    /// Allowed difference between expected and actual times.
    pub(crate) tolerance: Duration,
    /// The tick of timestamps, if the script checks them.
    pub(crate) timestamp_tick: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            algorithm: "cubic".to_owned(),
            timestamps: true,
            sack: true,
            window_scaling: true,
            ecn: EcnMode { accepts: PeerEcn::Classic, requests: PeerEcn::Off },
            accecn: AccEcnSettings { option: OptionSetting::Always, beacon: 3, fallback: true },
            restart_after_idle: true,
            tail_loss_probe: true,
            dup_thresh: 3,
            min_tso_segments: 2,
            tso_deferral: true,
            paced: false,
            initial_window: 10,
            min_rto: None,
            max_segment: None,
            mtu: 1500,
            nagle: true,
            tolerance: Duration::from_micros(4000), // packetdrill, config.c
            timestamp_tick: None,
        }
    }
}

/// Options without effect on a simulated path: addresses, ports and the output of packetdrill.
const IGNORED_OPTIONS: [&str; 20] = [
    "ip_version",
    "local_ip",
    "remote_ip",
    "gateway_ip",
    "netmask_ip",
    "local_linklocal_ip",
    "remote_linklocal_ip",
    "bind_port",
    "connect_port",
    "connect_ip",
    "bind_ip",
    "live_bind_ip",
    "live_connect_ip",
    "live_local_ip",
    "live_remote_ip",
    "live_prefix",
    "live_gateway_ip",
    "verbose",
    "debug",
    "dry_run",
];

/// Applies an option. Returns a feature that the interpreter lacks.
pub(crate) fn apply_option(option: &ScriptOption, settings: &mut Settings) -> Option<String> {
    let value = option.value.as_str();
    let micros = |settings: &mut Duration| match value.parse::<u32>() {
        Ok(count) => {
            *settings = Duration::from_micros(count.into());
            None
        }
        Err(_) => Some(format!("option --{}={value}", option.name)),
    };
    match option.name.as_str() {
        "ip_version" if value == "ipv6" => Some("IPv6 only".to_owned()),
        "tolerance_usecs" => micros(&mut settings.tolerance),
        "tcp_ts_tick_usecs" => {
            let mut tick = Duration::ZERO;
            let missing = micros(&mut tick);
            settings.timestamp_tick = Some(tick);
            missing
        }
        "mtu" => match value.parse::<u16>() {
            Ok(mtu) => {
                settings.mtu = mtu.into();
                None
            }
            Err(_) => Some(format!("option --mtu={value}")),
        },
        // Segments are compared one by one anyway.
        "strict_segments" | "non_fatal" | "speed" | "tcp_ts_ecr_scaled" | "send_omit_free" => None,
        name if IGNORED_OPTIONS.contains(&name) => None,
        name => Some(format!("option --{name}")),
    }
}
