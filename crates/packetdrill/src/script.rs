//! The syntax tree of a script (packetdrill's `parser.y`).

use cwndlab_units::Duration;

/// A script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The options `--name=value` at its start.
    pub options: Vec<ScriptOption>,
    /// Its events, in order. The commands before the first and after the last event have no time: they run at once.
    pub events: Vec<Event>,
}

/// An option `--name=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// Its line.
    pub line: u32,
    /// Its name, without dashes.
    pub name: String,
    /// Its value; empty if it has none.
    pub value: String,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its line.
    pub line: u32,
    /// Its time.
    pub time: EventTime,
    /// What happens.
    pub action: Action,
}

/// The time of an event since the start of the script, or since the preceding event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// `*`: any time.
    Any,
    /// `0.5`, or `0.5~0.6`.
    Absolute(Duration, Duration),
    /// `+0.5`, or `+0.5~+0.6`.
    Relative(Duration, Duration),
}

impl EventTime {
    /// Of commands without a time.
    pub(crate) const NOW: Self = Self::Relative(Duration::ZERO, Duration::ZERO);

    /// Whether the first and the last time differ.
    pub(crate) fn is_range(self) -> bool {
        matches!(self, Self::Absolute(from, to) | Self::Relative(from, to) if from != to)
    }
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `<`: this packet arrives.
    Inbound(Packet),
    /// `>`: this packet is sent.
    Outbound(Packet),
    /// A system call, and its result.
    Call(Call),
    /// A command of the shell, between backquotes.
    Command(String),
    /// Python, between `%{` and `}%`.
    Code(String),
}

/// The protocol of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// UDP-Lite.
    UdpLite,
    /// SCTP.
    Sctp,
    /// ICMP.
    Icmp,
    /// IP, GRE, MPLS or PSP around another packet.
    Encapsulated,
}

/// The flags AE, CWR and ECE, from the high bit of the ACE field to the low one.
pub(crate) const ECN_FLAGS: [char; 3] = ['A', 'W', 'E'];

/// A packet. Of other protocols than TCP only the protocol is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The protocol.
    pub protocol: Protocol,
    /// Its ECN field, where the script names it.
    pub ecn: Option<IpEcn>,
    /// Its DSCP, where the script names it.
    pub dscp: Option<u8>,
    /// The flags, such as `FP.`; empty for `-`. An ACE field is the letters A, W and E.
    pub flags: String,
    /// The first sequence number.
    pub seq: u64,
    /// The payload, bytes.
    pub len: u64,
    /// The acknowledgement.
    pub ack: Option<u64>,
    /// The window, as in the header.
    pub window: Option<u64>,
    /// An urgent pointer.
    pub urgent: bool,
    /// The TCP options; `None` for `<...>`, which matches any.
    pub options: Option<Vec<TcpOption>>,
}

impl Packet {
    /// Whether the packet has this flag.
    #[must_use]
    pub fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// The flags AE, CWR and ECE as a number, the ACE field of Accurate ECN.
    #[must_use]
    pub fn ace(&self) -> u8 {
        ECN_FLAGS.iter().fold(0, |ace, &flag| ace << 1 | u8::from(self.has(flag)))
    }

    /// Its options; none if the script does not say.
    pub fn options(&self) -> impl Iterator<Item = &TcpOption> {
        self.options.iter().flatten()
    }
}

/// The ECN field of the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpEcn {
    /// Not ECN-capable.
    Off,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// ECT(0) or ECT(1).
    Ect01,
    /// Congestion experienced.
    Ce,
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// Padding (`nop`).
    Padding,
    /// The end of the options (`eol`).
    End,
    /// The options are not compared (`nocheck`).
    Unchecked,
    /// Maximum segment size.
    Mss(u64),
    /// Window scale.
    WindowScale(u64),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks.
    Sack(Vec<(u64, u64)>),
    /// Timestamps: value and echo.
    Timestamps(u64, u64),
    /// Fast Open.
    FastOpen,
    /// MD5 signature.
    Md5,
    /// Accurate ECN: its counters, in order.
    AccurateEcn(Vec<(EcnCounter, u32)>),
    /// An option whose value is a symbol that packetdrill's command line defines (`-D`).
    Symbol(String),
}

/// A counter of the option of Accurate ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnCounter {
    /// `e0b`: payload with ECT(0).
    Ect0,
    /// `ceb`: payload with CE.
    Ce,
    /// `e1b`: payload with ECT(1).
    Ect1,
}

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<Expression>,
    /// When a blocking call returns, since the same time as that of the event.
    pub end: Option<Duration>,
    /// Its result.
    pub result: Expression,
    /// The error, such as `EPIPE`; empty if none is named.
    pub errno: String,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// `...`.
    Ellipsis,
    /// A number.
    Integer(i64),
    /// A constant such as `SOCK_STREAM`.
    Word(String),
    /// A text.
    Text(String),
    /// `A | B`.
    Or(Vec<Expression>),
    /// `[a, b]`.
    List(Vec<Expression>),
    /// `{name=a, name(...)=b, c}`: names, where there are some, and values.
    Struct(Vec<(String, Expression)>),
}

impl Expression {
    /// Its number.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, or the only number of a list, such as `[1]`.
    #[must_use]
    pub fn value(&self) -> Option<i64> {
        match self {
            Self::List(list) => list.first().and_then(Self::value),
            other => other.integer(),
        }
    }

    /// Calls `each` for every constant in it.
    pub fn for_each_word<'a>(&'a self, each: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Word(word) => each(word),
            Self::Or(list) | Self::List(list) => list.iter().for_each(|one| one.for_each_word(each)),
            Self::Struct(fields) => fields.iter().for_each(|(_, one)| one.for_each_word(each)),
            Self::Ellipsis | Self::Integer(_) | Self::Text(_) => {}
        }
    }
}
