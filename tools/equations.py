"""The equations in the header of an algorithm's source, and their form as mathematics: MathML, which needs no script.

A header writes its equations in plain text with the symbols of the code: ``w += α n / w   (1)``. A product is written
by juxtaposition; ``a / b`` with blanks is a fraction of the product on the left, and ``1/4`` without them stays in a
line; `_` is a subscript, `^` a superscript. Words of several letters are upright.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

__all__ = ["Header", "header", "html"]

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "crates" / "algorithms" / "src"


@dataclass(frozen=True)
class Header:
    """What the header of a source says."""

    file: Path
    #: The equations; empty if there are none.
    equations: str
    #: Paragraphs by their first word or words: `Source`, `Units`, `Differs from the source`.
    notes: dict[str, str]


@cache
def _files() -> dict[tuple[str, str], Path]:
    """The sources by folder and name of the entry."""
    named = {}
    for file in sorted(SOURCES.glob("*/*.rs")):
        if found := re.search(r'pub static SPEC: Spec = Spec \{\n *name: "([^"]+)"', file.read_text(encoding="utf-8")):
            named[file.parent.name, found[1]] = file
    return named


#: Folder of the sources of a kind.
FOLDERS = {
    "growth": "congestion_avoidance",
    "slow-start": "slow_start",
    "recovery": "recovery",
    "whole": "whole",
    "router": "router",
    "mechanism": "mechanism",
}


def header(kind: str, name: str) -> Header:
    """The header of the source of an entry."""
    file = _files().get((FOLDERS[kind], name)) or next(file for key, file in _files().items() if key[1] == name)
    lines = [line[3:].removeprefix(" ") for line in file.read_text(encoding="utf-8").splitlines() if line[:3] == "//!"]
    text = "\n".join(lines)
    equations = re.search(r"^```text\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    notes: dict[str, str] = {}
    for paragraph in re.split(r"\n\n|\n(?=Differs |Units:)", prose):
        key, colon, rest = " ".join(paragraph.split()).partition(": ")
        if colon and key in ("Source", "Units", "Differs from the source"):
            notes[key] = rest
    return Header(file.relative_to(ROOT), equations[1] if equations else "", notes)


#: A number at the end of a line, or before a remark that blanks set apart.
_LABEL = re.compile(
    r"(?<=\s\s)\((?P<set_apart>\d+)\)(?=\s{2,}|$)"
    r"|(?<=\S)\s\((?P<close>\d+)\)(?=\s{2,}|$)"
    r"|\s\((?P<place>sections? [^()]*|shared/[\w./]+)\)(?=\s{2,}|$)"
)
_LETTER = "[^\\W\\d_⁰¹²³⁴-⁹₀-₉½⅓¼¾]"
_TOKEN = re.compile(
    rf"""(?P<gap>(?<=[^:=\s])\s{{3,}}(?=[^\s=≤≥]))
    |(?P<space>\s+)
    |(?P<code>`[^`]*`|[\w/]+\.rs\b)
    |(?P<word>"[^"]*"|in\ flight|\.(?=\s|$)|[A-Za-z]+(?:-[A-Za-z]+)+|[A-Za-z]+'s\b)
    |(?P<number>\d+(?:[.,]\d+)*(?:e-?\d+)?(?:\ m?s\b)?|[½⅓¼¾])
    |(?P<assign>\+=|[−-]=|/=|>>|<<)
    |(?P<super>\^\([^()]*\)|\^\w+|[⁻⁰¹²³⁴-⁹]+|\*(?=\s))
    |(?P<name>{_LETTER}(?:{_LETTER}|[\u0300-\u036f]|\d)*[₀-₉]*'?(?:_\{{[^}}]*\}}|_(?:{_LETTER}|\d)+)*)
    |(?P<open>[(\[⌊⌈]) |(?P<close>[)\]⌋⌉])
    |(?P<bar>\|)
    |(?P<other>.)""",
    re.VERBOSE,
)
_SUPERS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "−0123456789")
UPRIGHT = ' mathvariant="normal"'
_FUNCTIONS = {"max", "min", "exp", "ln", "clamp"}
#: Words that end a product.
_STOPS = {
    "else", "if", "where", "and", "or", "for", "then", "with", "to", "until", "once", "per", "when", "each", "every",
    "within", "up", "while", "of", "is", "exceeds", "spans", "rises", "from", "over", "by", "at", "after", "not",
}  # fmt: skip


@dataclass(frozen=True)
class _Piece:
    """A part of a line: a term of mathematics, a fence, an operator or a word of prose."""

    #: `term`, `word`, `operator`, `space`, `slash`.
    kind: str
    markup: str
    #: What is in parentheses, where the term is a pair of them.
    inside: str | None = None


_SUBS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_WITHOUT_MARKS = re.compile("[\u0300-\u036f']")


def _name(text: str) -> str:
    """An identifier: single letters in italics and with subscripts, words as the code has them, upright."""
    base, *below = re.split(r"_(?![^{]*\})", text)
    prime = base.endswith("'")
    base = base.removesuffix("'")
    if digits := re.fullmatch(r"([^\W\d_][\u0300-\u036f]?)([\d₀-₉]+)", base):
        base, below = digits[1], [digits[2].translate(_SUBS), *below]
    is_letter = len(_WITHOUT_MARKS.sub("", base)) == 1
    if below and not (is_letter or base.isupper() or base == "cwnd"):
        base, below = "_".join([base, *below]), []
    made = f"<mi{'' if is_letter else UPRIGHT}>{escape(base)}</mi>"
    if below:
        index = "_".join(below).strip("{}")
        made = f"<msub>{made}<mi{UPRIGHT if len(index) > 1 or not index.isalpha() else ''}>{escape(index)}</mi></msub>"
    return f"<msup>{made}<mo>&#x2032;</mo></msup>" if prime else made


def _closing(tokens: list[re.Match[str]], start: int) -> int:
    """The place of the token that closes the parenthesis or bar at ``start``; -1 if there is none."""
    if tokens[start].lastgroup == "bar":
        return next((place for place in range(start + 1, len(tokens)) if tokens[place].lastgroup == "bar"), -1)
    depth = 0
    for place in range(start, len(tokens)):
        depth += (tokens[place].lastgroup == "open") - (tokens[place].lastgroup == "close")
        if depth == 0:
            return place
    return -1


def _is_word(text: str, token: re.Match[str]) -> bool:
    """Whether a name is prose: a word in lower case or with a capital, or the article."""
    if token[0] == "a":
        before = text[: token.start()].rstrip()[-1:]
        return before not in ("+", "−", "=", "(") and bool(re.match(r"\s[a-z]{3,}", text[token.end() :]))
    letters = _WITHOUT_MARKS.sub("", token[0])
    is_lower = letters.islower() or letters.istitle()
    return len(letters) > 1 and letters.isalpha() and letters.isascii() and is_lower and token[0] not in _FUNCTIONS


def _pieces(text: str) -> Iterator[_Piece]:
    """The parts of a text; what is in parentheses is one term."""
    tokens = list(_TOKEN.finditer(text))
    after = 0
    for position, token in enumerate(tokens):
        if position < after:
            continue
        kind, here = token.lastgroup, token[0]
        if kind in ("open", "bar") and (end := _closing(tokens, position)) >= 0:
            inner = _row(_fractions(list(_pieces(text[token.end() : tokens[end].start()]))))
            fence = f"<mrow><mo>{here}</mo>{inner}<mo>{tokens[end][0]}</mo></mrow>"
            yield _Piece("term", fence, inner if here == "(" else None)
            after = end + 1
        elif here == "/":
            around = text[token.start() - 1 : token.start()] + text[token.end() : token.end() + 1]
            yield _Piece("slash" if around.isspace() and len(around) == 2 else "tight", _TIGHT)
        else:
            yield _simple(text, token)


_TIGHT = '<mo lspace="0" rspace="0">/</mo>'


def _simple(text: str, token: re.Match[str]) -> _Piece:
    """The part of one token."""
    here = token[0]
    match token.lastgroup:
        case "gap":
            return _Piece("word", "&emsp;")
        case "space":
            return _Piece("space", "")
        case "code":
            return _Piece("word", f"<code>{escape(here.strip('`'))}</code>")
        case "word":
            return _Piece("word", escape(here))
        case "number":
            number, _, unit = here.partition(" ")
            shown = f"<mn>{number}</mn>"
            return _Piece("term", f"<mrow>{shown}{_SPACE}<mi{UPRIGHT}>{unit}</mi></mrow>" if unit else shown)
        case "name":
            return _Piece("word", escape(here)) if _is_word(text, token) else _Piece("term", _name(here))
        case "super":
            above = here.translate(_SUPERS).removeprefix("^").strip("()")
            return _Piece("super", "<mo>*</mo>" if above == "*" else f"<mrow>{_row(list(_pieces(above)))}</mrow>")
    return _Piece("operator", f"<mo>{escape(here)}</mo>")


_SPACE = '<mspace width="0.25em"></mspace>'


def _scripts(pieces: list[_Piece]) -> list[_Piece]:
    """Superscripts, and what is written without a blank: a function and its argument, `1/4`."""
    made: list[_Piece] = []
    for piece in pieces:
        if piece.kind == "super" and made and made[-1].kind in ("term", "word"):
            base = made[-1].markup if made[-1].kind == "term" else f"<mi{UPRIGHT}>{made[-1].markup}</mi>"
            made[-1] = _Piece("term", f"<msup>{base}{piece.markup}</msup>")
        elif piece.kind == "term" and made and made[-1].kind == "term":
            made[-1] = _Piece("term", f"<mrow>{made[-1].markup}{piece.markup}</mrow>")
        elif piece.kind == "term" and len(made) > 1 and made[-1].kind == "tight" and made[-2].kind in ("term", "word"):
            left = made[-2].markup if made[-2].kind == "term" else f"<mi{UPRIGHT}>{made[-2].markup}</mi>"
            made[-2:] = [_Piece("term", f"<mrow>{left}{made[-1].markup}{piece.markup}</mrow>")]
        else:
            made.append(piece)
    return [_Piece("operator", one.markup) if one.kind in ("super", "tight") else one for one in made]


def _fractions(pieces: list[_Piece]) -> list[_Piece]:
    """Fractions of the product on the left of a slash and the term on its right."""
    made: list[_Piece] = []
    rest = _scripts(pieces)
    while rest:
        piece = rest.pop(0)
        after = [one for one in rest[:2] if one.kind != "space"]
        if piece.kind != "slash" or not after or after[0].kind not in ("term", "word") or after[0].markup == "its":
            made.append(piece)
            continue
        start = len(made)
        while start and (made[start - 1].kind in ("term", "space") or _multiplies(made[start - 1])):
            start -= 1
        while start < len(made) and (made[start].kind == "space" or made[start].markup == "<mo>·</mo>"):
            start += 1
        over = made[start:]
        while over and over[-1].kind == "space":
            over.pop()
        if not over:
            made.append(piece)
            continue
        del made[start:]
        del rest[: rest.index(after[0]) + 1]
        alone = over[0].inside if len(over) == 1 else None
        below = after[0].inside if after[0].inside is not None else _math(after[0])
        made.append(_Piece("fraction", f"<mfrac><mrow>{alone or _row(over)}</mrow><mrow>{below}</mrow></mfrac>"))
    return [_Piece("term", one.markup) if one.kind == "fraction" else one for one in made]


def _multiplies(piece: _Piece) -> bool:
    """Whether a part may be within a product: a word that is a quantity, and the dot."""
    return (piece.kind == "word" and piece.markup not in _STOPS) or piece.markup == "<mo>·</mo>"


def _plain(piece: _Piece) -> str:
    """The text of an operator."""
    return re.sub("<.*?>", "", piece.markup)


def _math(piece: _Piece) -> str:
    return f"<mi{UPRIGHT}>{piece.markup}</mi>" if piece.kind == "word" else piece.markup


def _row(pieces: list[_Piece]) -> str:
    """The markup of parts within mathematics; blanks between terms are the space of a product."""
    made, left = [], ""
    for place, piece in enumerate(pieces):
        if piece.kind == "space":
            beside = {
                pieces[place - 1].kind if place else "",
                pieces[place + 1].kind if place + 1 < len(pieces) else "",
            }
            if beside <= {"term", "word", "fraction"}:
                made.append(_SPACE)
        elif piece.kind == "slash":
            made.append("<mo>/</mo>")
        elif piece.kind == "operator" and left == "term" and piece.markup == "<mo>−</mo>":
            made.append('<mo form="infix">−</mo>')
        else:
            made.append(_math(piece))
        left = piece.kind if piece.kind != "space" else left
    return "".join(made)


def _inline(text: str) -> str:
    """HTML of a text: prose as it is, mathematics in elements `math`, which end at `;` and between words."""
    parts: list[str] = []
    run: list[_Piece] = []

    def flush() -> None:
        trailing = bool(run) and run[-1].kind == "space"
        leading = bool(run) and run[0].kind == "space"
        inner = [one for place, one in enumerate(run) if one.kind != "space" or 0 < place < len(run) - 1]
        if inner:
            shown = f'<math displaystyle="true">{_row(inner)}</math>'
            parts.append(f"{' ' if leading else ''}{shown}{' ' if trailing else ''}")
        elif run:
            parts.append(" ")
        run.clear()

    pieces = _fractions(list(_pieces(text)))
    for place, piece in enumerate(pieces):
        if piece.kind == "word" and not _is_operand(pieces, place):
            flush()
            parts.append(piece.markup)
        elif piece.kind == "operator" and (mark := _plain(piece)) in (";", ":", ",", "%"):
            flush()
            parts.append(mark)
        else:
            run.append(piece)
    flush()
    return re.sub(r" +", " ", "".join(parts)).strip()


def _is_operand(pieces: list[_Piece], place: int) -> bool:
    """Whether a word is beside an operator, as in `target − w`: it is the name of a variable then."""
    if pieces[place].markup in _STOPS or "<code>" in pieces[place].markup:
        return False
    near = [one for one in (pieces[place + 1 : place + 3] + pieces[max(0, place - 2) : place]) if one.kind != "space"]
    marks = {_plain(one) for one in near if one.kind == "operator"}
    return bool(marks & {"=", "+", "−", "≤", "≥", "&lt;", "&gt;", "·", "+=", "−="})


def html(text: str) -> str:
    """A table with a row for each line: condition, equation, number, and what the line adds."""
    rows = []
    for line in text.splitlines():
        labels = list(_LABEL.finditer(line))
        found = next((one for one in labels if one["set_apart"]), labels[0] if labels else None)
        body, label, note = line, "", ""
        if found:
            label = found["set_apart"] or found["close"] or found["place"]
            body, note = line[: found.start()], line[found.end() :]
        indent = min((len(body) - len(body.lstrip())) / 2, 3)
        shown = _inline(body.strip())
        label = f"({escape(label)})" if label else ""
        rows.append(
            f'<tr><td style="padding-left: {indent:g}em">{shown}</td><td class="number">{label}</td>'
            f'<td class="note">{_inline(note.strip())}</td></tr>'
        )
    return f'<div class="equations"><table>{"".join(rows)}</table></div>'
