//! Commands of the shell: what they set.

use cwndlab_units::Duration;

use crate::settings::{EcnMode, OptionSetting, Settings};

/// Programs and scripts without effect on a simulated path.
const IGNORED_PROGRAMS: [&str; 9] = ["ethtool", "true", "sleep", "rm", "dd", "nstat", "ss", "sync", "exit"];
/// Sysctls without effect on a data sender: buffers whose limits no script reaches (those that do are found by the
/// results of their calls), receivers, repetitions of SYNs, Fast Open (its scripts are found by its options), and
/// features that Linux 6.x has no more.
const IGNORED_SYSCTLS: [&str; 30] = [
    "tcp_rmem",
    "tcp_wmem",
    "tcp_dsack",
    "tcp_fack",
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_fastopen_cookies",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_syncookies",
    "tcp_notsent_lowat",
    "tcp_no_metrics_save",
    "tcp_moderate_rcvbuf",
    "tcp_autocorking",
    "tcp_comp_sack_nr",
    "tcp_comp_sack_delay_ns",
    "tcp_comp_sack_slack_ns",
    "tcp_invalid_ratelimit",
    "tcp_retrans_collapse",
    "tcp_limit_output_bytes",
    "tcp_shrink_window",
    "tcp_tw_reuse",
    "tcp_fin_timeout",
    "tcp_max_reordering",
    "tcp_min_snd_mss",
    "tcp_base_mss",
    "tcp_abort_on_overflow",
    "tcp_max_syn_backlog",
    "tcp_mem",
];

/// The largest `tcp_ecn_option_beacon`.
const MOST_BEACONS: u32 = 3;

/// Applies a command. Returns the features that the interpreter lacks.
pub(crate) fn apply(command: &str, settings: &mut Settings) -> Vec<String> {
    let text = command.replace("\\\n", " ");
    let lines = text.lines().map(|line| line.split(" #").next().unwrap_or_default().trim());
    let commands = lines.filter(|line| !line.starts_with('#')).flat_map(|line| line.split(';'));
    let single = commands.flat_map(|line| line.split("&&")).flat_map(|line| line.split("||"));
    single.filter_map(|one| run(&words(one), settings)).flatten().collect()
}

/// The words of a command without quotes and redirections to the null device.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for one in command.chars() {
        match quote {
            Some(mark) if one == mark => quote = None,
            None if one == '"' || one == '\'' => quote = Some(one),
            None if one.is_whitespace() => words.push(std::mem::take(&mut word)),
            _ => word.push(one),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty() && word != "/dev/null" && !word.contains(">/dev/null"));
    words.retain(|word| !matches!(word.as_str(), ">" | "2>" | "&>" | "2>&1" | ">&"));
    words
}

/// Runs one command. Returns the features that the interpreter lacks, if any.
fn run(words: &[String], settings: &mut Settings) -> Option<Vec<String>> {
    let (program, arguments) = words.split_first()?;
    let base = program.rsplit('/').next().unwrap_or_default();
    let missing: Vec<String> = match base {
        "defaults.sh" => {
            apply_defaults(settings);
            Vec::new()
        }
        "sysctl" | "set_sysctls.py" => {
            let pairs = arguments.iter().filter(|word| !word.starts_with('-'));
            pairs.filter_map(|pair| sysctl(pair, settings)).collect()
        }
        "tc" => queue_discipline(arguments, settings).into_iter().collect(),
        "ip" => route(arguments, settings).into_iter().collect(),
        "echo" => module_parameter(arguments).into_iter().collect(),
        _ if base.starts_with("sysctl_restore") || IGNORED_PROGRAMS.contains(&base) => Vec::new(),
        _ => vec![format!("command '{base}'")],
    };
    Some(missing)
}

/// The sysctls that packetdrill's `defaults.sh` sets and that differ from those of Linux.
fn apply_defaults(settings: &mut Settings) {
    settings.timestamps = true;
    settings.sack = true;
    "cubic".clone_into(&mut settings.algorithm);
    settings.restart_after_idle = false;
    settings.tail_loss_probe = true;
    settings.dup_thresh = 3;
    settings.ecn = EcnMode::OFF;
    settings.accecn.option = OptionSetting::Always;
}

/// Applies `net.ipv4.tcp_sack=1`, also with slashes. Returns a feature that the interpreter lacks.
fn sysctl(pair: &str, settings: &mut Settings) -> Option<String> {
    let (path, value) = pair.split_once('=')?;
    let value = value.trim();
    let name = path.rsplit(['.', '/']).next().unwrap_or_default();
    let known = set_sysctl(name, value, settings).is_some() || has_value(name, value);
    (!known).then(|| format!("sysctl {name}={value}"))
}

/// Sets a parameter of the stack; `None` if there is none of this name, or it cannot have this value.
fn set_sysctl(name: &str, value: &str, settings: &mut Settings) -> Option<()> {
    let flag = || match value {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    };
    let number = || value.parse::<u32>().ok();
    match name {
        "tcp_timestamps" => settings.timestamps = flag()?,
        "tcp_sack" => settings.sack = flag()?,
        "tcp_window_scaling" => settings.window_scaling = flag()?,
        "tcp_slow_start_after_idle" => settings.restart_after_idle = flag()?,
        "tcp_reordering" => settings.dup_thresh = number()?,
        "tcp_min_tso_segs" => settings.min_tso_segments = number()?,
        "tcp_congestion_control" => value.clone_into(&mut settings.algorithm),
        "tcp_early_retrans" => settings.tail_loss_probe = number()? >= 3,
        // With a larger divisor almost every burst is large enough (tcp_tso_should_defer).
        "tcp_tso_win_divisor" => settings.tso_deferral = number()? <= 3,
        "tcp_rto_min_us" => settings.min_rto = Some(Duration::from_micros(number()?.into())),
        "tcp_ecn" => settings.ecn = EcnMode::numbered(value)?,
        "tcp_ecn_fallback" => settings.accecn.fallback = flag()?,
        "tcp_ecn_option_beacon" => settings.accecn.beacon = number()?.min(MOST_BEACONS),
        "tcp_ecn_option" => {
            settings.accecn.option = match value {
                "0" => OptionSetting::Never,
                "1" => OptionSetting::Sparingly,
                "2" | "3" => OptionSetting::Always,
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(())
}

/// Whether the transport has this value of a sysctl that cannot be set, or the sysctl has no effect on a data sender.
fn has_value(name: &str, value: &str) -> bool {
    match name {
        "tcp_recovery" => value == "1",
        "tcp_frto" => matches!(value, "1" | "2"),
        "tcp_pacing_ss_ratio" => value == "200",
        "tcp_pacing_ca_ratio" => value == "120",
        "tcp_mtu_probing" => value == "0",
        name => IGNORED_SYSCTLS.contains(&name),
    }
}

/// Applies `tc qdisc replace dev tun0 root fq`.
fn queue_discipline(arguments: &[String], settings: &mut Settings) -> Option<String> {
    let has = |word: &str| arguments.iter().any(|one| one == word);
    let drops = arguments.windows(2).any(|pair| pair[0] == "limit" && pair[1] == "0");
    if drops || has("netem") || has("tbf") {
        return Some("local transmission failure (tc)".to_owned());
    }
    settings.paced = has("fq") && !has("delete") && !has("del");
    None
}

/// Applies `ip route change … initcwnd 11`.
fn route(arguments: &[String], settings: &mut Settings) -> Option<String> {
    for pair in arguments.windows(2) {
        match pair[0].as_str() {
            "initcwnd" => match pair[1].parse() {
                Ok(segments @ 1..=10_000) => settings.initial_window = segments,
                _ => return Some(format!("route with initcwnd {}", pair[1])),
            },
            "rto_min" => match pair[1].trim_end_matches("ms").parse::<u32>() {
                Ok(ms) => settings.min_rto = Some(Duration::from_millis(ms.into())),
                Err(_) => return Some(format!("route with rto_min {}", pair[1])),
            },
            "mtu" | "advmss" | "congctl" | "features" | "quickack" => return Some(format!("route with {}", pair[0])),
            _ => {}
        }
    }
    None
}

/// `echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect` sets Linux' default: both conditions.
fn module_parameter(arguments: &[String]) -> Option<String> {
    let path = arguments.last().filter(|path| path.starts_with("/sys/") || path.starts_with("/proc/"))?;
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_default = name == "hystart_detect" && arguments[0] == "3";
    (!is_default).then(|| format!("module parameter {name}={}", arguments[0]))
}
