"""The catalogue: every algorithm, slow start, recovery and mechanism, with its source and parameters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from difflib import get_close_matches
from textwrap import fill
from typing import Any

from cwndlab.engine import aliases, canonical_algorithm, entries
from cwndlab.errors import Fault, ScenarioError


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of an entry; either a range or ``words``."""

    name: str
    unit: str
    default: float | str
    low: float | None = None
    high: float | None = None
    words: tuple[str, ...] = ()
    doc: str

    @property
    def domain(self) -> str:
        """What it may be, in words."""
        return " | ".join(self.words) if self.words else f"{_number(self.low)} … {_number(self.high)}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values; either low and high, or words."""
        left_out = ("low", "high") if self.words else ("words",)
        return {
            key: list(value) if key == "words" else value for key, value in asdict(self).items() if key not in left_out
        }

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.name}={_number(self.default)}{unit}"


@dataclass(frozen=True, kw_only=True, repr=False)
class Algorithm:
    """An entry of the catalogue."""

    name: str
    title: str
    kind: str
    source: str
    year: int
    confidence: str
    summary: str
    parameters: tuple[Parameter, ...]
    choices: tuple[str, ...]
    pitfalls: tuple[str, ...]
    companion: str
    model_based: bool
    needs: tuple[str, ...]
    """Of host or path: ``pacing``, ``ecn``, ``every-ack``, ``agent SCHEME`` in the routers."""
    incompatible: tuple[tuple[str, str], ...]
    """Algorithms with which it cannot be combined, each with the reason."""
    quic: tuple[str, ...]
    """What it does not get over QUIC (`docs/quic.md`), or why it does not run there."""
    aliases: tuple[str, ...]

    @property
    def agents(self) -> list[str]:
        """Schemes of the agents that its routers must have."""
        return [need.removeprefix("agent ") for need in self.needs if need.startswith("agent ")]

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in vars(self).items()}
        return plain | {"parameters": [parameter.as_dict() for parameter in self.parameters]}

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Algorithm {self.name}: {self.title}, {self.kind}, {self.source}>"


def algorithms(kind: str | None = None) -> tuple[Algorithm, ...]:
    """All entries, or those of one ``kind``: growth, slow-start, recovery, whole, router, mechanism.

    >>> [entry.name for entry in algorithms("recovery")]
    ['tahoe', 'reno', 'newreno', 'sack', 'fack', 'rack']
    """
    others = aliases()
    found = []
    for entry in entries():
        if kind is not None and entry["kind"] != kind:
            continue
        parameters = tuple(
            Parameter(**{**parameter, "words": tuple(parameter.get("words", ()))}) for parameter in entry["parameters"]
        )
        lists = {key: tuple(entry[key]) for key in ("choices", "pitfalls", "needs", "incompatible", "quic")}
        names = tuple(alias for alias, target in others if target == entry["name"])
        found.append(Algorithm(**{**entry, **lists, "parameters": parameters, "aliases": names}))
    return tuple(found)


def other_names() -> list[dict[str, str]]:
    """Rows of ``alias`` and what it ``means``: the names by which papers and stacks call things."""
    return [{"alias": alias, "means": target} for alias, target in aliases()]


def canonical(text: str, scenario: str | None = None) -> str:
    """The text in full: aliases resolved, companions named, parameters in the entry's order. ``scenario`` is JSON in
    which classes of one's own are described.

    >>> canonical("hstcp")
    'highspeed+standard'
    >>> canonical("cubik")
    Traceback (most recent call last):
    cwndlab.errors.ScenarioError: no algorithm is called 'cubik'
      hint: did you mean 'cubic'? `cwndlab list` shows them all
    """
    return canonical_algorithm(text, scenario)


def meant_by(text: str) -> tuple[Algorithm, ...]:
    """The entries that ``text`` names: one, several of one name, or the parts of a whole algorithm."""
    text = text.strip()
    known = algorithms()
    found = tuple(entry for entry in known if text in (entry.name, *entry.aliases))
    if found:
        return found
    presets = [alias for alias, _ in aliases()]
    if text not in presets and not any(mark in text for mark in "+/("):
        raise ScenarioError(_unknown(text, [entry.name for entry in known] + presets))
    parts = _parts(canonical(text))
    return tuple(entry for part, kinds in parts for entry in known if entry.name == part and entry.kind in kinds)


def explain(text: str) -> str:
    """What is known of an entry, an alias, or a whole text such as ``cubic+ccm-ss(mu=1.5)/sack``.

    >>> print(explain("tahoe").splitlines()[0])
    tahoe means reno+standard/tahoe, or the recovery below
    """
    text = text.strip()
    entries = meant_by(text)
    target = dict(aliases()).get(text)
    own = any(entry.name == text for entry in entries)
    heading = ""
    if target is not None:
        heading = f"{text} means {target}" + (f", or the {entries[0].kind} below" if own else "") + "\n\n"
    elif not own:
        heading = f"{text} means {canonical(text)}\n\n"
    return heading + "\n\n".join(_page(entry) for entry in entries)


#: What an entry may need, in words.
_NEEDS = {
    "pacing": "a sender that paces",
    "spacing": "segments that are sent one by one at its pacing rate, not in bursts",
    "ecn": "ECN, with every mark echoed (accurate ECN); it is negotiated unless the scenario says otherwise",
    "every-ack": "to be told of every ACK; others may be asked once per round trip",
}

_GROWTHS = ("growth", "whole", "router")


def _parts(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Names and possible kinds of the parts of a canonical text."""
    plain, depth = "", 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        plain += letter if depth == 0 and letter != ")" else ""
    rest, _, recovery = plain.partition("/")
    growth, _, start = rest.partition("+")
    parts = [(growth, _GROWTHS), (start, ("slow-start",)), (recovery, ("recovery",))]
    return [(name, kinds) for name, kinds in parts if name]


def _unknown(name: str, names: list[str]) -> Fault:
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'? `cwndlab list` shows them all" if near else "`cwndlab list` shows them all"
    return Fault("", f"no algorithm is called '{name}'", hint)


def _page(entry: Algorithm) -> str:
    def block(text: str, first: str = "") -> str:
        return fill(text, 100, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False)

    lines = [f"{entry.name} — {entry.title} ({entry.kind})", f"source: {entry.source}, confidence {entry.confidence}"]
    if entry.aliases:
        lines.append(f"also called: {', '.join(entry.aliases)}")
    if entry.companion:
        lines.append(f"comes with the slow start: {entry.companion}")
    if entry.model_based:
        lines.append("model-based: keeps a model of the path, and may grow while it has nothing to send")
    lines += ["", *(line if line.startswith(" ") else block(line) for line in entry.summary.splitlines())]
    if entry.parameters:
        lines += ["", "parameters"]
        for parameter in entry.parameters:
            lines.append(f"  {parameter}  ({parameter.domain})")
            lines.append(block(parameter.doc, "      "))
    if entry.confidence == "low":
        lines += ["", block("Low confidence: our reconstruction from a short description; see the choices.")]
    needs = [_NEEDS.get(need, f"routers with the agent '{need.removeprefix('agent ')}'") for need in entry.needs]
    incompatible = [f"'{name}': {reason}" for name, reason in entry.incompatible]
    lists = (
        ("needs", needs),
        ("incompatible with", incompatible),
        ("choices where the source is ambiguous", entry.choices),
        ("pitfalls", entry.pitfalls),
        ("over QUIC", entry.quic),
    )
    for title, items in lists:
        if items:
            lines += ["", title, *(block(item, "  - ") for item in items)]
    return "\n".join(lines)


def _number(value: float | str | None) -> str:
    return value if isinstance(value, str) else f"{value:g}"
