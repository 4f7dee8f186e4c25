//! Packets.

use std::cell::Cell;

use winnow::combinator::{alt, cut_err, delimited, fail, not, opt, peek, preceded, repeat, separated, terminated};
use winnow::error::{ContextError, ErrMode};
use winnow::prelude::*;
use winnow::stream::Stream;
use winnow::token::{take_till, take_while};

use super::tokens::{byte, expected, field, keyword, number, short, space, symbol, word, Input};
use crate::script::{EcnCounter, IpEcn, Packet, Protocol, TcpOption, ECN_FLAGS};

/// Reads a packet after its direction. What may be open of a packet that is sent, a packet that arrives must have.
pub(super) fn packet<'a>(arrives: bool) -> impl Parser<Input<'a>, Packet, ErrMode<ContextError>> {
    move |input: &mut Input<'a>| read(input, arrives)
}

fn read(input: &mut Input<'_>, arrives: bool) -> ModalResult<Packet> {
    // Until 2013 the data that an ICMP message quotes stood before its type.
    let quoted = (symbol("["), take_till(1.., [']', '\n']), symbol("]"), peek(keyword("icmp")));
    opt(quoted).parse_next(input)?;
    let (ecn, dscp) = opt(ip_header).parse_next(input)?.unwrap_or_default();
    if arrives && ecn == Some(IpEcn::Ect01) {
        return missing("'ect0' or 'ect1' of a packet that arrives", input);
    }
    if let Some(protocol) = opt(other_protocol).parse_next(input)? {
        return Ok(Packet { protocol, ..Packet::default() });
    }
    opt((number, symbol(">"), number)).parse_next(input)?; // ports
    let begin = input.checkpoint();
    let flags = flags.context(expected("TCP flags such as 'S.', or 'udp', 'icmp'")).parse_next(input)?;
    let (seq, len) = cut_err(range.context(expected("sequence numbers such as 1:1001(1000)"))).parse_next(input)?;
    let ack =
        opt(preceded(keyword("ack"), cut_err(field.context(expected("a number of 32 bits"))))).parse_next(input)?;
    let window =
        opt(preceded(keyword("win"), cut_err(short.context(expected("a number of 16 bits"))))).parse_next(input)?;
    let urgent =
        opt(preceded(keyword("urg"), cut_err(short.context(expected("a number of 16 bits"))))).parse_next(input)?;
    if arrives && window.is_none() {
        input.reset(&begin); // the next event may be on another line
        return missing("'win' and the window of a packet that arrives", input);
    }
    let options = options(input, arrives)?;
    Ok(Packet { protocol: Protocol::Tcp, ecn, dscp, flags, seq, len, ack, window, urgent: urgent.is_some(), options })
}

/// Fails.
fn missing<T>(what: &'static str, input: &mut Input<'_>) -> ModalResult<T> {
    cut_err(fail.context(expected(what))).parse_next(input)
}

/// `[ect0]`, `(tos 0x4)`, `[ttl 64]`, `[ect0, flowlabel 0x1]`.
fn ip_header(input: &mut Input<'_>) -> ModalResult<(Option<IpEcn>, Option<u8>)> {
    let inside = || separated(1.., ip_field, symbol(","));
    let fields: Vec<Option<(IpEcn, Option<u8>)>> =
        alt((delimited(symbol("["), inside(), symbol("]")), delimited(symbol("("), inside(), symbol(")"))))
            .parse_next(input)?;
    Ok(fields.into_iter().flatten().next().map_or((None, None), |(ecn, dscp)| (Some(ecn), dscp)))
}

/// The ECN field and the DSCP, where the field has them. The byte `tos` is both (RFC 3168, section 5; RFC 2474, section 3).
fn ip_field(input: &mut Input<'_>) -> ModalResult<Option<(IpEcn, Option<u8>)>> {
    let value = preceded(alt((keyword("ttl"), keyword("flowlabel"))), number);
    let tos = preceded(keyword("tos"), cut_err(byte.context(expected("a number of 8 bits"))));
    let both = tos.map(|tos| ([IpEcn::Off, IpEcn::Ect1, IpEcn::Ect0, IpEcn::Ce][usize::from(tos & 3)], Some(tos >> 2)));
    let ecn = word.verify_map(|word| {
        Some(match word.as_str() {
            "noecn" => IpEcn::Off,
            "ect0" => IpEcn::Ect0,
            "ect1" => IpEcn::Ect1,
            "ect01" => IpEcn::Ect01,
            "ce" => IpEcn::Ce,
            _ => return None,
        })
    });
    let what = expected("'noecn', 'ect0', 'ect1', 'ect01', 'ce', 'tos', 'ttl' or 'flowlabel'");
    alt((value.value(None), both.map(Some), ecn.map(|ecn| Some((ecn, None))))).context(what).parse_next(input)
}

/// UDP, UDP-Lite, SCTP, ICMP and encapsulations, which are read to the end of the line, and of their brackets.
fn other_protocol(input: &mut Input<'_>) -> ModalResult<Protocol> {
    let mut protocol = word.verify_map(|word| {
        Some(match word.as_str() {
            "udp" => Protocol::Udp,
            "udplite" => Protocol::UdpLite,
            "sctp" => Protocol::Sctp,
            "icmp" => Protocol::Icmp,
            "ipv4" | "ipv6" | "gre" | "GREv0" | "mpls" | "encap" => Protocol::Encapsulated,
            _ => return None,
        })
    });
    let protocol = protocol.parse_next(input)?;
    let depth = Cell::new(0usize);
    let last = Cell::new(' ');
    let ends = |one: char| {
        match one {
            '[' | '{' | '(' => depth.set(depth.get() + 1),
            ']' | '}' | ')' => depth.set(depth.get().saturating_sub(1)),
            _ => {}
        }
        // A list of chunks goes on after a semicolon.
        let end = one == '\n' && depth.get() == 0 && last.get() != ';';
        if !one.is_whitespace() {
            last.set(one);
        }
        end
    };
    terminated(take_till(0.., ends), space).parse_next(input)?;
    Ok(protocol)
}

/// `S.`, `FP.`, `SEW`, `.`, or `-` for none. A digit is the ACE field of Accurate ECN, in place of the letters A, W and E.
fn flags(input: &mut Input<'_>) -> ModalResult<String> {
    let is_flag = |one: char| "FSRPUEWAC.".contains(one) || ('0'..='7').contains(&one);
    let flags = alt(("-".value(""), take_while(1.., is_flag).verify(has_one_ace)));
    terminated(flags, (peek(not(":")), space)).map(with_letters).parse_next(input)
}

/// Whether flags have a digit, or letters of the ACE field, or neither.
fn has_one_ace(flags: &str) -> bool {
    let digits = flags.chars().filter(char::is_ascii_digit).count();
    digits == 0 || digits == 1 && !flags.contains(ECN_FLAGS)
}

/// Flags with letters in place of a digit.
fn with_letters(flags: &str) -> String {
    let letters = |one: char| match one.to_digit(8) {
        Some(ace) => (0..3).filter(|place| ace >> (2 - place) & 1 == 1).map(|place| ECN_FLAGS[place]).collect(),
        None => one.to_string(),
    };
    flags.chars().map(letters).collect()
}

/// `1:1001(1000)`: the first sequence number and the payload.
fn range(input: &mut Input<'_>) -> ModalResult<(u64, u64)> {
    let (from, (), to, (), len, ()) = (field, symbol(":"), field, symbol("("), field, symbol(")")).parse_next(input)?;
    if to.checked_sub(from) != Some(len) || u16::try_from(len).is_err() {
        return cut_err(fail.context(expected("a payload of last minus first sequence number, 16 bits")))
            .parse_next(input);
    }
    Ok((from, len))
}

/// `<mss 1000,sackOK>`; `<...>` for any options; without them there are none.
fn options(input: &mut Input<'_>, arrives: bool) -> ModalResult<Option<Vec<TcpOption>>> {
    let mut any = (symbol("<"), symbol("..."), symbol(">"));
    if arrives {
        cut_err(not(any).context(expected("the options of a packet that arrives"))).parse_next(input)?;
    } else if opt(any.by_ref()).parse_next(input)?.is_some() {
        return Ok(None);
    }
    let list = cut_err(separated(1.., tcp_option, symbol(",")));
    let end = cut_err(symbol(">").context(expected("',' or '>'")));
    // The next event may be an inbound packet only after a time, so that '<' always begins the options here.
    let options: Vec<TcpOption> = opt(delimited(symbol("<"), list, end)).parse_next(input)?.unwrap_or_default();
    Ok((!options.contains(&TcpOption::Unchecked)).then_some(options))
}

fn tcp_option(input: &mut Input<'_>) -> ModalResult<TcpOption> {
    let shift = byte.map(|shift| TcpOption::WindowScale(shift.into()));
    alt((
        alt((
            keyword("nop").value(TcpOption::Padding),
            keyword("eol").value(TcpOption::End),
            keyword("nocheck").value(TcpOption::Unchecked),
        )),
        preceded(keyword("mss"), cut_err(segment_size)),
        preceded(keyword("wscale"), cut_err(shift.context(expected("a number of 8 bits")))),
        keyword("sackOK").value(TcpOption::SackPermitted),
        preceded(keyword("sack"), cut_err(repeat(1.., block))).map(TcpOption::Sack),
        timestamps,
        preceded(alt((keyword("FOEXP"), keyword("FO"))), opt(word)).value(TcpOption::FastOpen),
        preceded(keyword("md5"), opt(word)).value(TcpOption::Md5),
        preceded(keyword("ECN"), cut_err(accurate_ecn)).map(TcpOption::AccurateEcn),
    ))
    .context(expected("a TCP option such as 'mss 1000', 'sackOK', 'sack 1:2', 'TS val 1 ecr 2' or 'nop'"))
    .parse_next(input)
}

/// A number, or a symbol of packetdrill's command line.
fn segment_size(input: &mut Input<'_>) -> ModalResult<TcpOption> {
    let symbol =
        word.verify(|word: &String| !word.starts_with(|one: char| one.is_ascii_digit())).map(TcpOption::Symbol);
    alt((short.map(TcpOption::Mss), symbol)).context(expected("a number of 16 bits")).parse_next(input)
}

fn block(input: &mut Input<'_>) -> ModalResult<(u64, u64)> {
    let block = (terminated(field, symbol(":")), field);
    block.context(expected("a SACK block such as 1001:2001")).parse_next(input)
}

fn timestamps(input: &mut Input<'_>) -> ModalResult<TcpOption> {
    let value = || cut_err(field.context(expected("a timestamp")));
    let option = (preceded((keyword("TS"), keyword("val")), value()), preceded(cut_err(keyword("ecr")), value()));
    option.map(|(value, echo)| TcpOption::Timestamps(value, echo)).parse_next(input)
}

/// The counters of the option of Accurate ECN, in one of its two orders (RFC 9768, table 5).
fn accurate_ecn(input: &mut Input<'_>) -> ModalResult<Vec<(EcnCounter, u32)>> {
    let list: Vec<(EcnCounter, u32)> = repeat(1.., accurate_ecn_counter).parse_next(input)?;
    let names: Vec<EcnCounter> = list.iter().map(|(name, _)| *name).collect();
    let orders =
        [[EcnCounter::Ect0, EcnCounter::Ce, EcnCounter::Ect1], [EcnCounter::Ect1, EcnCounter::Ce, EcnCounter::Ect0]];
    if !orders.iter().any(|order| order.starts_with(&names)) {
        return cut_err(fail.context(expected("the order 'e0b ceb e1b' or 'e1b ceb e0b'"))).parse_next(input);
    }
    Ok(list)
}

fn accurate_ecn_counter(input: &mut Input<'_>) -> ModalResult<(EcnCounter, u32)> {
    let name = alt((
        keyword("e0b").value(EcnCounter::Ect0),
        keyword("e1b").value(EcnCounter::Ect1),
        keyword("ceb").value(EcnCounter::Ce),
    ));
    let value = number.verify_map(|value| u32::try_from(value).ok().filter(|value| value >> 24 == 0));
    (name, cut_err(value.context(expected("a number of 24 bits")))).parse_next(input)
}
