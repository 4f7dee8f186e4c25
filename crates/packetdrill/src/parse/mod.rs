//! The parser (packetdrill's `lexer.l` and `parser.y`): text to syntax tree, or a fault with line and column.

mod call;
mod packet;
mod tokens;

use cwndlab_units::{Duration, Fault};
use winnow::combinator::{alt, cut_err, eof, opt, peek, preceded, repeat, terminated};
use winnow::error::{ContextError, StrContext};
use winnow::prelude::*;
use winnow::stream::Location;
use winnow::token::take_while;

use self::tokens::{back_quoted, code, expected, quoted, space, symbol, time, word, Input};
use crate::script::{Action, Event, EventTime, Script, ScriptOption};

/// Parses a script.
pub(crate) fn parse(text: &str) -> Result<Script, Fault> {
    script.parse(Input::new(text)).map(|parsed| parsed.into_script(text)).map_err(|error| {
        // At the end, the place is after the last token.
        let offset = error.offset().min(text.trim_end().len());
        let (line, column) = position(text, offset);
        Fault::new(format!("line {line}, column {column}"), describe(text, offset, error.inner()), "")
    })
}

/// Line and column of a byte, both from 1.
fn position(text: &str, offset: usize) -> (u32, u32) {
    let before = &text[..offset.min(text.len())];
    let line = before.matches('\n').count() as u32 + 1;
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) as u32 + 1;
    (line, column)
}

/// What was found, and what the parser expected there.
fn describe(text: &str, offset: usize, error: &ContextError) -> String {
    let rest = text.get(offset..).unwrap_or_default().trim_start_matches([' ', '\t']);
    let found: String = rest.lines().next().unwrap_or_default().chars().take(20).collect();
    let found = if found.is_empty() { "the line ends".to_owned() } else { format!("found '{}'", found.trim_end()) };
    // The first context is that of the innermost parser.
    let wanted = error.context().find_map(|context| match context {
        StrContext::Expected(what) => Some(what.to_string()),
        _ => None,
    });
    format!("{found}, expected {}", wanted.unwrap_or_else(|| "another token".to_owned()))
}

/// A script with offsets in place of lines.
struct Parsed {
    options: Vec<(usize, String, String)>,
    events: Vec<(usize, EventTime, Action)>,
}

impl Parsed {
    fn into_script(self, text: &str) -> Script {
        let line = |offset| position(text, offset).0;
        Script {
            options: self
                .options
                .into_iter()
                .map(|(offset, name, value)| ScriptOption { line: line(offset), name, value })
                .collect(),
            events: self
                .events
                .into_iter()
                .map(|(offset, time, action)| Event { line: line(offset), time, action })
                .collect(),
        }
    }
}

fn script(input: &mut Input<'_>) -> ModalResult<Parsed> {
    space.parse_next(input)?;
    let options = repeat(0.., option).parse_next(input)?;
    let events = repeat(0.., event).parse_next(input)?;
    eof.context(expected("an event: a time, then a packet, a system call, `…` or %{…}%")).parse_next(input)?;
    Ok(Parsed { options, events })
}

fn option(input: &mut Input<'_>) -> ModalResult<(usize, String, String)> {
    let offset = input.current_token_start();
    let name = preceded("--", cut_err(word.context(expected("the name of an option")))).parse_next(input)?;
    let value = |input: &mut Input<'_>| -> ModalResult<String> {
        let value = take_while(1.., |one: char| !one.is_whitespace() && one != '`' && one != '"');
        alt((quoted, back_quoted, terminated(value.map(str::to_owned), space))).parse_next(input)
    };
    let value = opt(preceded(symbol("="), cut_err(value.context(expected("a value"))))).parse_next(input)?;
    Ok((offset, name, value.unwrap_or_default()))
}

fn event(input: &mut Input<'_>) -> ModalResult<(usize, EventTime, Action)> {
    peek(alt((symbol("+"), symbol("*"), symbol("`"), time.void()))).parse_next(input)?;
    let time = opt(event_time).parse_next(input)?;
    let offset = input.current_token_start();
    if time.is_none() {
        let command = cut_err(back_quoted.context(expected("a command"))).parse_next(input)?;
        return Ok((offset, EventTime::NOW, Action::Command(command)));
    }
    // Only of packets that are sent it is not known when that is.
    if matches!(time, Some(EventTime::Any)) || time.is_some_and(EventTime::is_range) {
        cut_err(peek(symbol(">")).context(expected("'>' after '*' or a range of times"))).parse_next(input)?;
    }
    let mut action = cut_err(action.context(expected("a packet ('<', '>'), a system call, a command or code")));
    let action = action.parse_next(input)?;
    let time = time.unwrap_or(EventTime::NOW);
    Ok((offset, time, action))
}

fn event_time(input: &mut Input<'_>) -> ModalResult<EventTime> {
    if opt(symbol("*")).parse_next(input)?.is_some() {
        return Ok(EventTime::Any);
    }
    let relative = opt(symbol("+")).parse_next(input)?.is_some();
    let from = if relative {
        cut_err(time.context(expected("a time in seconds"))).parse_next(input)?
    } else {
        time.parse_next(input)?
    };
    let later = preceded(opt(symbol("+")), time).verify(|to| *to >= from);
    let end = preceded(symbol("~"), cut_err(later.context(expected("a time in seconds that is not before the first"))));
    let to: Option<Duration> = opt(end).parse_next(input)?;
    let range = (from, to.unwrap_or(from));
    Ok(if relative { EventTime::Relative(range.0, range.1) } else { EventTime::Absolute(range.0, range.1) })
}

fn action(input: &mut Input<'_>) -> ModalResult<Action> {
    alt((
        preceded(symbol("<"), cut_err(packet::packet(true))).map(Action::Inbound),
        preceded(symbol(">"), cut_err(packet::packet(false))).map(Action::Outbound),
        code.map(Action::Code),
        back_quoted.map(Action::Command),
        call::call.map(Action::Call),
    ))
    .parse_next(input)
}
