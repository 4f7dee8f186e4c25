//! System calls.

use winnow::combinator::{alt, cut_err, delimited, fail, opt, preceded, repeat, separated, terminated};
use winnow::prelude::*;
use winnow::token::take_till;

use super::tokens::{expected, integer, quoted, symbol, time, word, Input};
use crate::script::{Call, Expression};

/// Levels of brackets in an argument.
const MAX_DEPTH: u32 = 20;

/// Reads `...END name(arguments) = result ERRNO (note)`.
pub(super) fn call(input: &mut Input<'_>) -> ModalResult<Call> {
    let end = opt(preceded(symbol("..."), cut_err(time.context(expected("a time in seconds"))))).parse_next(input)?;
    let name = word.parse_next(input)?;
    let list = separated(0.., argument, symbol(","));
    let open = cut_err(symbol("(").context(expected("'('")));
    let close = cut_err(symbol(")").context(expected("',' or ')'")));
    let arguments = delimited(open, list, close).parse_next(input)?;
    cut_err(symbol("=").context(expected("'=' and the result of the call"))).parse_next(input)?;
    let result = cut_err(argument.context(expected("the result of the call"))).parse_next(input)?;
    let errno = opt(word.verify(|word: &str| word.starts_with('E'))).parse_next(input)?.unwrap_or_default();
    opt((symbol("("), take_till(0.., ')'), symbol(")"))).parse_next(input)?; // a note
    Ok(Call { name, arguments, end, result, errno })
}

fn argument(input: &mut Input<'_>) -> ModalResult<Expression> {
    expression(MAX_DEPTH, input)
}

/// Reads an expression of at most `depth` levels.
fn expression(depth: u32, input: &mut Input<'_>) -> ModalResult<Expression> {
    let Some(depth) = depth.checked_sub(1) else {
        return cut_err(fail.context(expected("fewer levels of brackets"))).parse_next(input);
    };
    let operand = |input: &mut Input<'_>| operand(depth, input);
    let list: Vec<Expression> = separated(1.., operand, symbol("|")).parse_next(input)?;
    Ok(match <[Expression; 1]>::try_from(list) {
        Ok([one]) => one,
        Err(list) => Expression::Or(list),
    })
}

fn operand(depth: u32, input: &mut Input<'_>) -> ModalResult<Expression> {
    let inner = |input: &mut Input<'_>| expression(depth, input);
    let field = |input: &mut Input<'_>| field(depth, input);
    let items = separated(0.., inner, symbol(","));
    let list = delimited(symbol("["), items, cut_err(symbol("]").context(expected("',' or ']'"))));
    let fields = repeat(0.., terminated(field, opt(symbol(","))));
    let structure = delimited(symbol("{"), fields, cut_err(symbol("}").context(expected("',' or '}'"))));
    let texts =
        repeat(1.., terminated(quoted, opt(symbol("...")))).fold(String::new, |text, part: String| text + &part);
    let parenthesised = delimited(symbol("("), take_till(0.., ')'), symbol(")"));
    alt((
        symbol("...").value(Expression::Ellipsis),
        integer.map(Expression::Integer),
        list.map(Expression::List),
        structure.map(Expression::Struct),
        texts.map(Expression::Text),
        terminated(word, opt(parenthesised)).map(Expression::Word),
    ))
    .context(expected("a number, a constant, '...', '[', '{' or a text"))
    .parse_next(input)
}

/// `name=value`, `name(...)=value` or a value.
fn field(depth: u32, input: &mut Input<'_>) -> ModalResult<(String, Expression)> {
    let count = opt(delimited(symbol("("), take_till(0.., ')'), symbol(")")));
    let value = || move |input: &mut Input<'_>| expression(depth, input);
    let named = (terminated(word, (count, symbol("="))), cut_err(value()));
    alt((named, value().map(|value| (String::new(), value)))).parse_next(input)
}
