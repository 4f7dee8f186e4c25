//! Tokens. Each parser also consumes the white space and the comments that follow.

use cwndlab_units::Duration;
use winnow::ascii::{digit0, digit1, hex_digit1};
use winnow::combinator::{alt, delimited, opt, preceded, repeat, terminated};
use winnow::error::{ContextError, ErrMode, StrContext, StrContextValue};
use winnow::prelude::*;
use winnow::stream::LocatingSlice;
use winnow::token::{any, none_of, take_till, take_until, take_while};

pub(super) type Input<'a> = LocatingSlice<&'a str>;

const NS_PER_S: u64 = 1_000_000_000;
/// Times of a script are less than this, s: eleven days.
const MAX_TIME: u64 = 1_000_000;

/// The context of a fault: what the parser expects.
pub(super) fn expected(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

/// White space and comments: `//`, `#` and `/* */`.
pub(super) fn space(input: &mut Input<'_>) -> ModalResult<()> {
    let line = (alt(("//", "#")), take_till(0.., '\n')).void();
    let block = ("/*", take_until(0.., "*/"), "*/").void();
    let blank = take_while(1.., char::is_whitespace).void();
    repeat(0.., alt((blank, line, block))).parse_next(input)
}

/// Punctuation.
pub(super) fn symbol<'a>(text: &'static str) -> impl Parser<Input<'a>, (), ErrMode<ContextError>> {
    terminated(text, space).void()
}

/// A name or constant.
pub(super) fn word(input: &mut Input<'_>) -> ModalResult<String> {
    let is_word = |one: char| one.is_ascii_alphanumeric() || one == '_';
    terminated(take_while(1.., is_word), space).map(|word: &str| word.to_owned()).parse_next(input)
}

/// A certain word.
pub(super) fn keyword<'a>(text: &'static str) -> impl Parser<Input<'a>, (), ErrMode<ContextError>> {
    word.verify(move |found: &str| found == text).void()
}

/// An unsigned number.
pub(super) fn number(input: &mut Input<'_>) -> ModalResult<u64> {
    let hexadecimal = preceded("0x", hex_digit1).try_map(|digits| u64::from_str_radix(digits, 16));
    terminated(alt((hexadecimal, digit1.try_map(str::parse))), space).parse_next(input)
}

/// A field of a packet: an unsigned number of 32 bits.
pub(super) fn field(input: &mut Input<'_>) -> ModalResult<u64> {
    number.verify(|&value| u32::try_from(value).is_ok()).parse_next(input)
}

/// A field of a header: an unsigned number of 16 bits.
pub(super) fn short(input: &mut Input<'_>) -> ModalResult<u64> {
    number.verify(|&value| u16::try_from(value).is_ok()).parse_next(input)
}

/// An unsigned number of 8 bits.
pub(super) fn byte(input: &mut Input<'_>) -> ModalResult<u8> {
    number.verify_map(|value| u8::try_from(value).ok()).parse_next(input)
}

/// A number with an optional sign.
pub(super) fn integer(input: &mut Input<'_>) -> ModalResult<i64> {
    let negative = opt('-').parse_next(input)?.is_some();
    let value = number.verify(|&value| i64::try_from(value).is_ok()).parse_next(input)?.cast_signed();
    Ok(if negative { -value } else { value })
}

/// A time in seconds, such as `1`, `.25` or `0.100`.
pub(super) fn time(input: &mut Input<'_>) -> ModalResult<Duration> {
    let fraction = || preceded('.', digit1);
    let seconds = alt(((digit0, fraction()), (digit1, "".value(""))));
    terminated(seconds.verify_map(|(whole, part)| duration(whole, part)), space).parse_next(input)
}

/// The time `whole.part`. Digits below a nanosecond are ignored.
fn duration(whole: &str, part: &str) -> Option<Duration> {
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok().filter(|&whole| whole < MAX_TIME)? };
    let digits: String = part.chars().chain("000000000".chars()).take(9).collect();
    Some(Duration::from_nanos(whole * NS_PER_S + digits.parse::<u64>().ok()?))
}

/// A text between double quotes.
pub(super) fn quoted(input: &mut Input<'_>) -> ModalResult<String> {
    terminated(between('"'), space).parse_next(input)
}

/// A command between backquotes.
pub(super) fn back_quoted(input: &mut Input<'_>) -> ModalResult<String> {
    terminated(between('`'), space).parse_next(input)
}

/// A text between two marks; a backslash keeps the next character from ending it.
fn between<'a>(mark: char) -> impl Parser<Input<'a>, String, ErrMode<ContextError>> {
    let escaped = ('\\', any).take();
    let plain = none_of([mark, '\\']).take();
    let inner = repeat(0.., alt((escaped, plain))).fold(String::new, |text, part: &str| text + part);
    delimited(mark, inner, mark)
}

/// Python between `%{` and `}%`.
pub(super) fn code(input: &mut Input<'_>) -> ModalResult<String> {
    let inner = take_until(0.., "}%").map(|code: &str| code.trim_matches([' ', '\t']).to_owned());
    terminated(delimited("%{", inner, "}%"), space).parse_next(input)
}
