//! Stack profiles: the default parameters of common TCP stacks.

use cwndlab_config::describe::accepts;
use cwndlab_config::{Faults, Field, FieldType, Reader, Table};
use cwndlab_control::RecoveryKind;
use cwndlab_units::{rto, Bytes, Duration, Rate};
use serde_json::{json, Value};

use crate::plan::{
    AckCounting, Ecn, IdleRestart, Pacing, PeerEcn, Prr, Rampdown, RtoArithmetic, RtoRestart, Rules, Stack,
};

mod choices;

pub use choices::NAMES;
use choices::{
    AckCountingWords, EcnWords, IdleRestartWords, PacingWords, PeerEcnWords, PrrWords, RampdownWords,
    RtoArithmeticWords, RtoRestartWords,
};

/// The names of the profiles.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name)
}

/// Linux 6.x with its default sysctls; payload of a 1500-byte packet with timestamps.
const LINUX: Stack = Stack {
    mss: Bytes(1448),
    header: Bytes(52), // 20 IP + 20 TCP + 12 timestamps
    ack: Bytes(52),
    sack_block: Bytes(8), // RFC 2018; without the option's 4 bytes of header
    ack_counting: AckCounting::Bytes,
    initial_window: 10, // RFC 6928
    initial_ssthresh: None,
    min_rto: rto::LINUX_MIN,
    max_rto: rto::LINUX_MAX,
    initial_rto: rto::INITIAL,
    rto_arithmetic: RtoArithmetic::Exact,
    rto_restart: RtoRestart::Retransmission,   // tcp_xmit_retransmit_queue
    rto_granularity: Duration::from_millis(4), // HZ = 250
    rto_floor_on_variance: true,               // tcp_rtt_estimator: rttvar starts each round from the floor
    ack_every: 2,
    ack_delay: Duration::from_millis(40), // TCP_DELACK_MIN
    quick_acks: 16,                       // TCP_MAX_QUICKACKS
    piggyback: false,
    sack: true,
    sack_blocks: 3, // with timestamps
    dsack: true,
    sack_compression: 44, // tcp_comp_sack_nr
    conceal_losses: false,
    ack_division: 1,
    timestamps: true,
    paws: true,
    ecn: Ecn::Off, // tcp_ecn = 2: only on request of the peer
    peer_ecn: PeerEcn::Accurate,
    accecn_option: true, // tcp_ecn_option = 2
    ecn_acks: true,      // tcp_ecn_send
    ect1: false,
    pacing: Pacing::Algorithm, // no fq
    pacing_quantum: 2,         // tcp_min_tso_segs
    tso_burst: true,
    rules: Rules::Linux,
    receive_window: Bytes(64 << 20),
    auto_tuning: true, // tcp_moderate_rcvbuf
    initial_receive_window: INITIAL_RECEIVE_WINDOW,
    read_rate: None,
    idle_restart: IdleRestart::Decay, // tcp_slow_start_after_idle
    limited_transmit: true,
    undo: true,            // tcp_frto, timestamps, D-SACK
    tail_loss_probe: true, // tcp_early_retrans = 3
    prr: Prr::Rfc9937,
    rampdown: Rampdown::None,
    dup_thresh: 3, // tcp_reordering
    syn_retries: 6,
    syn_linear_timeouts: LINEAR_TIMEOUTS,
    exit_burst: 0,
    first_segment: 0,
};

/// tcp_syn_linear_timeouts.
const LINEAR_TIMEOUTS: u32 = 4;

/// tcp_rmem: half of the 131,072 bytes, less one.
const INITIAL_RECEIVE_WINDOW: Bytes = Bytes(65_535);

/// The defaults of the RFCs.
fn rfc() -> Stack {
    Stack {
        mss: Bytes(1460),
        header: Bytes(40),
        ack: Bytes(40),
        // RFC 5681, section 3.1: min(N, SMSS) per ACK in slow start (equation 2), bytes in congestion avoidance.
        ack_counting: AckCounting::AcksInSlowStart,
        min_rto: rto::RFC_MIN,
        max_rto: Duration::from_secs(60), // RFC 6298 (2.5)
        rto_restart: RtoRestart::NewData, // RFC 6298 (5.3)
        rto_granularity: Duration::from_millis(1),
        rto_floor_on_variance: false,
        ack_delay: Duration::from_millis(200), // RFC 5681 allows up to 500
        quick_acks: 0,
        sack_compression: 0,
        timestamps: false,
        ecn_acks: false, // RFC 3168, section 6.1.4
        sack_blocks: 4,
        tso_burst: false,
        rules: Rules::Rfc,
        receive_window: Bytes(1 << 30), // maximum of RFC 7323
        auto_tuning: false,
        idle_restart: IdleRestart::InitialWindow, // RFC 5681, section 4.1
        syn_retries: 5,
        syn_linear_timeouts: 0,
        ..LINUX
    }
}

/// ns-2.35 as configured for the references: TCP/Linux or the native agents, one ACK per segment.
fn ns2() -> Stack {
    Stack {
        // opencwnd() and tcp_slow_start() run once per ACK; modules that count bytes after slow start use
        // "acks-in-slow-start".
        ack_counting: AckCounting::Acks,
        initial_window: 2,
        min_rto: Duration::from_millis(200),
        max_rto: Duration::from_secs(120),
        initial_rto: Duration::from_secs(3),
        // As Agent/TCP/Linux with a tick of 1 ms; the native agents use "ticks" of 10 ms (tcpTick_) and
        // "retransmission".
        rto_arithmetic: RtoArithmetic::TicksLinux,
        rto_restart: RtoRestart::EveryAck,
        ack_every: 1,
        ack_delay: Duration::from_millis(100),
        timestamps: true,
        paws: false, // its sinks only echo
        sack_blocks: 3,
        dsack: false,
        receive_window: Bytes(60_000 * 1460),
        idle_restart: IdleRestart::InitialWindow, // slow_start_restart_
        undo: false,
        tail_loss_probe: false,
        rampdown: Rampdown::InFlight, // modules without min_cwnd reduce the window to ssthresh immediately
        exit_burst: 3,                // tcp_moderate_cwnd: in flight + 3
        ..rfc()
    }
}

/// Windows 10 20H1, "Internet" template, as `Get-NetTCPSetting` printed it in the Windows/LTE study.
fn windows() -> Stack {
    Stack {
        ack_counting: AckCounting::Bytes,     // appropriate byte counting (RFC 3465)
        min_rto: Duration::from_millis(300),  // MinRto
        initial_rto: Duration::from_secs(1),  // InitialRto
        ack_every: 2,                         // DelayedAckFrequency
        ack_delay: Duration::from_millis(40), // DelayedAckTimeout
        ecn: Ecn::Off,
        receive_window: Bytes(16 << 20),
        auto_tuning: true,              // AutoTuningLevelLocal Normal
        idle_restart: IdleRestart::Off, // CwndRestart False
        syn_retries: 4,                 // MaxSynRetransmissions
        ..rfc()
    }
}

/// The stack and the loss recovery of the profile `name`.
#[must_use]
pub fn find(name: &str) -> Option<(Stack, RecoveryKind)> {
    Some(match name {
        "linux" => (LINUX, RecoveryKind::Rack),
        "rfc" => (rfc(), RecoveryKind::Rack),
        "ns2" => (ns2(), RecoveryKind::Fack),
        "windows-10-20h1" => (windows(), RecoveryKind::Rack),
        _ => return None,
    })
}

/// Declares the fields that a scenario overrides, by name and type; the crate `transport` declares their meaning.
macro_rules! overrides {
    ($($field:ident: $type:ident $(in $low:literal..=$high:literal)?,)+) => {
        const FIELDS: &[Field] = &[$(
            Field::of::<$type>(stringify!($field), Stack::description(stringify!($field)))
                $(.within($low, $high))?
                .absent("the profile's")
        ),+];

        fn take(stack: &mut Stack, table: &Reader<'_>, faults: &mut Faults) {
            $(if let Some(value) = $type::read(table, stringify!($field), faults) {
                stack.$field = value.into();
            })+
        }
    };
}

overrides! {
    mss: Bytes,
    header: Bytes,
    ack: Bytes,
    sack_block: Bytes,
    ack_counting: AckCountingWords,
    initial_window: u32 in 1..=1_000_000,
    initial_ssthresh: u32 in 2..=100_000_000,
    min_rto: Duration,
    max_rto: Duration,
    initial_rto: Duration,
    rto_arithmetic: RtoArithmeticWords,
    rto_restart: RtoRestartWords,
    rto_granularity: Duration,
    rto_floor_on_variance: bool,
    ack_every: u32 in 1..=1000,
    ack_delay: Duration,
    quick_acks: u32 in 0..=4_000_000_000,
    piggyback: bool,
    sack: bool,
    sack_blocks: u32 in 1..=4,
    dsack: bool,
    sack_compression: u32 in 0..=255,
    conceal_losses: bool,
    ack_division: u32 in 1..=1000,
    timestamps: bool,
    paws: bool,
    ecn: EcnWords,
    peer_ecn: PeerEcnWords,
    accecn_option: bool,
    ecn_acks: bool,
    pacing: PacingWords,
    pacing_quantum: u32 in 1..=1000,
    tso_burst: bool,
    receive_window: Bytes,
    auto_tuning: bool,
    initial_receive_window: Bytes,
    read_rate: Rate,
    idle_restart: IdleRestartWords,
    limited_transmit: bool,
    undo: bool,
    tail_loss_probe: bool,
    prr: PrrWords,
    rampdown: RampdownWords,
    dup_thresh: u32 in 1..=1000,
    syn_retries: u32 in 0..=100,
    syn_linear_timeouts: u32 in 0..=100,
    exit_burst: u32 in 0..=1_000_000,
}

/// Values of a stack.
pub static STACK: Table = Table::new("stack", "Parameters of a stack that override those of its profile.", &[FIELDS]);

/// Applies the overrides of `table`; errors are added to `faults`.
pub fn override_with(stack: &mut Stack, table: &Reader<'_>, faults: &mut Faults) {
    take(stack, table, faults);
    if stack.mss.0 == 0 || stack.mss.0 + stack.header.0 > 65_535 {
        faults.add(table.at("mss"), "a segment with its headers takes 1 to 65535 bytes", "write \"1448 B\"");
        stack.mss = Bytes(1448);
    }
    if stack.receive_window == Bytes::ZERO {
        faults.add(table.at("receive_window"), "is closed for ever, so that no data can be sent", "write \"64 kB\"");
    }
    if stack.initial_receive_window == Bytes::ZERO {
        let what = "is closed for ever, so that no data can be sent";
        faults.add(table.at("initial_receive_window"), what, "write \"64 kB\"");
    }
    if stack.auto_tuning && stack.initial_receive_window.0 >> stack.window_shift() == 0 {
        let what = "is so large that the window scale makes the first window zero, so that no data can be sent";
        faults.add(table.at("receive_window"), what, "write \"1 GiB\", the maximum of RFC 7323");
    }
    if stack.min_rto > stack.max_rto {
        faults.add(table.at("min_rto"), "is above max_rto", "");
    }
}

/// The canonical form of a stack: all values, independent of profile and overrides.
#[must_use]
pub fn canonical(stack: &Stack) -> Value {
    let word = |words: &[(&'static str, bool)]| words.iter().find(|(_, is)| *is).map_or("", |(word, _)| *word);
    macro_rules! named {
        ($words:ident, $field:ident) => {
            word(&$words::VALUES.iter().map(|(word, value)| (*word, *value == stack.$field)).collect::<Vec<_>>())
        };
    }
    let mut out = json!({
        "mss_bytes": stack.mss.0, "header_bytes": stack.header.0, "ack_bytes": stack.ack.0,
        "sack_block_bytes": stack.sack_block.0, "ack_counting": named!(AckCountingWords, ack_counting),
        "initial_window": stack.initial_window, "initial_ssthresh": stack.initial_ssthresh,
        "min_rto_ns": stack.min_rto.as_nanos(), "max_rto_ns": stack.max_rto.as_nanos(), "initial_rto_ns": stack.initial_rto.as_nanos(),
        "rto_arithmetic": named!(RtoArithmeticWords, rto_arithmetic), "rto_restart": named!(RtoRestartWords, rto_restart),
        "rto_granularity_ns": stack.rto_granularity.as_nanos(), "rto_floor_on_variance": stack.rto_floor_on_variance,
        "ack_every": stack.ack_every, "ack_delay_ns": stack.ack_delay.as_nanos(), "quick_acks": stack.quick_acks,
        "sack": stack.sack, "sack_blocks": stack.sack_blocks, "dsack": stack.dsack, "sack_compression": stack.sack_compression,
        "timestamps": stack.timestamps, "paws": stack.paws,
        "ecn": named!(EcnWords, ecn), "pacing": named!(PacingWords, pacing), "pacing_quantum": stack.pacing_quantum,
        "tso_burst": stack.tso_burst, "rules": if stack.rules == Rules::Linux { "linux" } else { "rfc" },
        "receive_window_bytes": stack.receive_window.0, "auto_tuning": stack.auto_tuning,
        "read_rate_bps": stack.read_rate.map(|rate| rate.0), "idle_restart": named!(IdleRestartWords, idle_restart),
        "limited_transmit": stack.limited_transmit, "undo": stack.undo, "tail_loss_probe": stack.tail_loss_probe,
        "prr": named!(PrrWords, prr), "rampdown": named!(RampdownWords, rampdown), "dup_thresh": stack.dup_thresh,
        "syn_retries": stack.syn_retries, "exit_burst": stack.exit_burst,
    });
    add_other_values(&mut out, stack);
    out
}

/// Adds the values that are not those of every profile, or of its rules.
fn add_other_values(out: &mut Value, stack: &Stack) {
    let is_linux = stack.rules == Rules::Linux;
    if stack.initial_receive_window != INITIAL_RECEIVE_WINDOW {
        out["initial_receive_window_bytes"] = json!(stack.initial_receive_window.0);
    }
    if let Some((word, _)) =
        PeerEcnWords::VALUES.iter().find(|(_, one)| *one == stack.peer_ecn && *one != PeerEcn::Accurate)
    {
        out["peer_ecn"] = json!(word);
    }
    if !stack.accecn_option {
        out["accecn_option"] = json!(false);
    }
    if stack.ecn_acks != is_linux {
        out["ecn_acks"] = json!(stack.ecn_acks);
    }
    if stack.syn_linear_timeouts != if is_linux { LINEAR_TIMEOUTS } else { 0 } {
        out["syn_linear_timeouts"] = json!(stack.syn_linear_timeouts);
    }
    if stack.piggyback {
        out["piggyback"] = json!(true);
    }
    if stack.conceal_losses {
        out["conceal_losses"] = json!(true);
    }
    if stack.ack_division > 1 {
        out["ack_division"] = json!(stack.ack_division);
    }
}

/// The description of a field of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackField {
    /// Name of the field.
    pub name: &'static str,
    /// Meaning, a phrase.
    pub meaning: String,
    /// Accepted values.
    pub accepts: String,
    /// Values in the profiles, in the order of [`NAMES`].
    pub values: Vec<String>,
}

/// All fields of a stack, from their declarations.
#[must_use]
pub fn stack_fields() -> Vec<StackField> {
    let stacks: Vec<Stack> = names().filter_map(find).map(|(stack, _)| stack).collect();
    let columns: Vec<_> = stacks.iter().map(Stack::fields).collect();
    let row = |field: &cwndlab_config::Field| {
        let name = field.name;
        let at = columns[0].iter().position(|(field, ..)| *field == name).expect("every field is one of the stack");
        let meaning = columns[0][at].1.split_whitespace().collect::<Vec<_>>().join(" ");
        let values = columns.iter().map(|column| written(&format!("{:?}", column[at].2))).collect();
        StackField { name, meaning, accepts: accepts(&field.kind), values }
    };
    STACK.fields().map(row).collect()
}

/// Formats a value as in a scenario, from its debug form: `Bytes(1448)` becomes `1448 B`, `TicksLinux` `ticks-linux`.
fn written(debug: &str) -> String {
    let inside = |head: &str| debug.strip_prefix(head)?.strip_prefix('(')?.strip_suffix(')');
    if let Some(count) = inside("Bytes").and_then(|text| text.parse().ok()) {
        // Small sizes are printed in bytes.
        return if count < 10_000 { format!("{count} B") } else { Bytes(count).to_string() };
    }
    if let Some(time) = inside("Duration").and_then(|text| text.parse().ok()) {
        return Duration::from_nanos(time).to_string();
    }
    if let Some(value) = inside("Some") {
        return written(value);
    }
    if debug == "None" {
        return "none".to_owned();
    }
    let mut text = String::new();
    for letter in debug.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.x: `TCP_RTO_MIN` is HZ / 5, the initial window 10 segments (RFC 6928); RFC 6298 (2.4) has 1 s.
    #[test]
    fn every_field_is_described_with_its_values() {
        let fields = stack_fields();
        assert_eq!(fields.len(), STACK.fields().count());
        for one in &fields {
            assert!(!one.meaning.is_empty() && !one.accepts.is_empty(), "{}", one.name);
            assert_eq!(one.values.len(), NAMES.len(), "{}", one.name);
        }
        let values = |name| fields.iter().find(|one| one.name == name).unwrap().values.clone();
        assert_eq!(values("min_rto"), ["200 ms", "1 s", "200 ms", "300 ms"]);
        assert_eq!(values("mss"), ["1448 B", "1460 B", "1460 B", "1460 B"]);
        assert_eq!(values("initial_window"), ["10", "10", "2", "10"]);
        assert_eq!(values("initial_ssthresh"), ["none"; 4]);
        assert_eq!(values("rto_arithmetic"), ["exact", "exact", "ticks-linux", "exact"]);
        assert_eq!(values("idle_restart"), ["decay", "initial-window", "initial-window", "off"]);
    }

    #[test]
    fn accepted_values_are_described() {
        let fields = stack_fields();
        let accepted = |name| fields.iter().find(|one| one.name == name).unwrap().accepts.clone();
        assert_eq!(accepted("ecn"), "\"off\", \"classic\", \"accurate\", \"dctcp\", \"accecn\"");
        assert_eq!(accepted("sack_blocks"), "an integer from 1 to 4");
        assert_eq!(accepted("undo"), "true or false");
        assert_eq!(accepted("min_rto"), "a time: \"50 ms\"");
    }

    /// All fields of the struct except the sequence number of the first segment, which does not affect results, and the ECT
    /// codepoint, which follows from the algorithm.
    #[test]
    fn the_canonical_form_has_all_values() {
        let (linux, _) = find("linux").unwrap();
        for field in ["initial_receive_window_bytes", "syn_linear_timeouts"] {
            assert_eq!(canonical(&linux).get(field), None, "that of the profile is left out");
        }
        let (initial_receive_window, peer_ecn) = (Bytes(1 << 20), PeerEcn::Off);
        let linux = Stack { accecn_option: false, ecn_acks: false, syn_linear_timeouts: 0, ..linux };
        let stack =
            Stack { initial_receive_window, peer_ecn, conceal_losses: true, ack_division: 2, piggyback: true, ..linux };
        let form = canonical(&stack);
        assert_eq!(form.as_object().unwrap().len(), stack.fields().len() - 2);
        assert_eq!((form["min_rto_ns"].as_u64(), form["idle_restart"].as_str()), (Some(200_000_000), Some("decay")));
        assert!(form.as_object().unwrap().values().all(|value| value != ""), "{form}");
    }
}
