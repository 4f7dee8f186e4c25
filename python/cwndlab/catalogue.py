"""The catalogue: every algorithm, slow start, recovery and mechanism, with its source and parameters, and the classes
that `cwndlab.register` made available."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from difflib import get_close_matches
from inspect import getdoc
from textwrap import fill
from typing import Any, NamedTuple

from cwndlab.custom import CustomAlgorithm, described, registered
from cwndlab.engine import aliases, canonical_algorithm, entries
from cwndlab.errors import ArgumentError, Fault, ScenarioError, parameter_fault


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of an entry: a number within a range, which may be open, or one of ``words``."""

    name: str
    unit: str
    default: float | str
    low: float | None = None
    high: float | None = None
    words: tuple[str, ...] = ()
    doc: str

    @property
    def domain(self) -> str:
        """Its values, as text."""
        if self.words:
            return " | ".join(self.words)
        return "any number" if self.low is None else f"{_number(self.low)} … {_number(self.high)}"

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
    """An entry of the catalogue.

    >>> reno, *_ = algorithms("growth")
    >>> abc = next(entry for entry in algorithms() if entry.name == "abc-wireless")
    >>> abc.agents, abc.kind
    (['abc'], 'router')
    """

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
    """Requirements on host or path: ``pacing``, ``ecn``, ``every-ack``, ``loss-in-reduction``, and ``agent SCHEME`` in
    the routers."""
    incompatible: tuple[tuple[str, str], ...]
    """Algorithms with which it cannot be combined, each with the reason."""
    quic: tuple[str, ...]
    """Limitations over QUIC (`docs/quic.md`), or the reason why it does not run there."""
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


#: Our equivalents of the congestion controls of Linux 6, by the kernel's name, each with its slow start; recovery is
#: RACK's. Parameters are those by which a module of Linux differs from the source of the algorithm.
KERNEL_ALGORITHMS = {
    "reno": "reno+standard",
    "cubic": "cubic-linux+hystart-linux",
    "bbr": "bbr1",
    "dctcp": "dctcp+standard",
    "bic": "bic(ack_ratio=measured,counter=linux-6)+standard",
    "highspeed": "highspeed(rule=table,per_ack=true)+standard",
    "htcp": "htcp(rtt_scaling=linux,counter=linux)+standard",
    "hybla": "hybla(rho=linux,base=handshake,initial_window=transport,max_rho=16,per_ack=true)",
    "illinois": "illinois(counter=linux)+standard",
    "scalable": "scalable(ai_cnt=100,counter=linux-6)+standard",
    "vegas": "vegas(diff=linux,loss=0.5,step=at-once,rounding=down)+vegas-ss(grow=each,exit=rate,rtt=min)",
    "veno": "veno(rtt=last,counter=linux-6)+standard",
    "westwood": "westwood-plus(filter=linux-6)+standard",
    "yeah": "yeah(counter=linux-6)",
}

#: Those of other releases and configurations that differ. Until 5.6 four modules counted ACKs where later ones count
#: acknowledged segments; BBR adds the excess of aggregated ACKs since 5.1; Westwood counts in ticks, of which
#: distributions have 100, 250, 300 or 1,000 in a second.
OTHER_KERNEL_ALGORITHMS = {
    "Linux 4 to 5.6": {
        "bic": "bic(ack_ratio=measured,counter=linux-4)+standard",
        "scalable": "scalable(ai_cnt=50,counter=linux-4)+standard",
        "veno": "veno(rtt=last,counter=linux-4)+standard",
        "yeah": "yeah(counter=linux-4)",
    },
    "Linux before 5.1": {"bbr": "bbr1(aggregation=off)"},
    "Linux with HZ = 250": {"westwood": "westwood-plus(filter=linux-6,tick=0.004)+standard"},
}


def algorithms(kind: str | None = None) -> tuple[Algorithm, ...]:
    """All entries, or those of one kind; registered classes (`cwndlab.register`) come last.

    Parameters
    ----------
    kind
        ``growth`` (congestion avoidance), ``slow-start``, ``recovery``, ``whole``, ``router`` or ``mechanism``.

    Examples
    --------
    >>> [entry.name for entry in algorithms("recovery")]
    ['tahoe', 'reno', 'newreno', 'sack', 'fack', 'rack']
    """
    known = [_entry(entry) for entry in entries()] + [_class_entry(one) for one in registered().values()]
    kinds = list(dict.fromkeys(entry.kind for entry in known))
    if kind not in (None, *kinds):
        raise ArgumentError(
            parameter_fault("kind", f"no kind is called '{kind}'", hint=f"there are {', '.join(kinds)}")
        )
    return tuple(entry for entry in known if kind in (None, entry.kind))


def _entry(entry: dict[str, Any]) -> Algorithm:
    """An entry of the engine's catalogue."""
    parameters = tuple(
        Parameter(**{**parameter, "words": tuple(parameter.get("words", ()))}) for parameter in entry["parameters"]
    )
    lists = {key: tuple(entry[key]) for key in ("choices", "pitfalls", "needs", "incompatible", "quic")}
    names = tuple(alias for alias, target in aliases() if target == entry["name"])
    return Algorithm(**{**entry, **lists, "parameters": parameters, "aliases": names})


def _class_entry(algorithm: CustomAlgorithm) -> Algorithm:
    """The entry of a registered class."""
    parameters = tuple(
        Parameter(
            name=name,
            unit="",
            default=str(default).lower() if isinstance(default, bool) else float(default),
            low=low,
            high=high,
            words=("false", "true") if isinstance(default, bool) else (),
            doc="of the class's constructor",
        )
        for name, default in algorithm.parameters.items()
        for low, high in [algorithm.ranges.get(name, (None, None))]
    )
    return Algorithm(
        name=algorithm.name,
        title=algorithm.entry["class"],
        kind="whole",
        source=algorithm.entry["file"] or "a class in Python",
        year=0,
        confidence="high",
        summary=(getdoc(algorithm.kind) or "A class in Python.").partition("\n\n")[0],
        parameters=parameters,
        choices=(),
        pitfalls=(),
        companion="",
        model_based=algorithm.model_based,
        needs=(),
        incompatible=(),
        quic=("classes in Python do not run over QUIC",),
        aliases=(),
    )


def other_names() -> list[dict[str, str]]:
    """Rows of ``alias`` and the algorithm that it ``means``: the names that papers and stacks use."""
    return [{"alias": alias, "means": target} for alias, target in aliases()]


def canonical(text: str, scenario: str | None = None) -> str:
    """The text in full: aliases resolved, companions named, parameters in the entry's order.

    Parameters
    ----------
    text
        An algorithm, as a flow names it.
    scenario
        JSON that describes the custom classes of a scenario. Registered classes are known in any case.

    Examples
    --------
    >>> canonical("hstcp")
    'highspeed+standard'
    >>> canonical("cubik")
    Traceback (most recent call last):
    cwndlab.errors.ScenarioError: no algorithm is called 'cubik'
      hint: did you mean 'cubic'? `cwndlab list` shows them all
    """
    return canonical_algorithm(text, described(registered(), scenario))


class Parts(NamedTuple):
    """The names of an algorithm's parts; a part that its text does not name is empty."""

    growth: str
    slow_start: str
    recovery: str


def parts(text: str) -> Parts:
    """The names of the parts of an algorithm.

    >>> parts("cubic+ccm-ss(mu=2)/sack")
    Parts(growth='cubic', slow_start='ccm-ss', recovery='sack')
    """
    plain, depth = "", 0
    for letter in canonical(text):
        depth += (letter == "(") - (letter == ")")
        plain += letter if depth == 0 and letter != ")" else ""
    before, _, recovery = plain.partition("/")
    growth, _, slow_start = before.partition("+")
    return Parts(growth, slow_start, recovery)


def entries_of(text: str) -> tuple[Algorithm, ...]:
    """The entries that a text names: those with this name or alias, or the parts of a composed algorithm.

    >>> [entry.name for entry in entries_of("cubic+hystart/sack")]
    ['cubic', 'hystart', 'sack']
    """
    text = text.strip()
    known = algorithms()
    entries = tuple(entry for entry in known if text in (entry.name, *entry.aliases))
    if entries:
        return entries
    presets = [alias for alias, _ in aliases()]
    if text not in presets and not any(mark in text for mark in "+/("):
        raise ScenarioError(_unknown(text, [entry.name for entry in known] + presets))
    names = parts(text)
    pairs = list(zip(names, (_GROWTHS, ("slow-start",), ("recovery",)), strict=True))
    return tuple(entry for name, kinds in pairs for entry in known if entry.name == name and entry.kind in kinds)


def explain(text: str) -> str:
    """The description of an entry, an alias, or a composed algorithm such as ``cubic+ccm-ss(mu=1.5)/sack``.

    >>> print(explain("tahoe").splitlines()[0])
    tahoe means reno+standard/tahoe, or the recovery below
    """
    if not isinstance(text, str):
        raise ArgumentError(parameter_fault("text", f"'{text}' is not the name of an algorithm", example="cubic"))
    text = text.strip()
    entries = entries_of(text)
    target = dict(aliases()).get(text)
    is_entry = any(entry.name == text for entry in entries)
    heading = ""
    if target is not None:
        heading = f"{text} means {target}" + (f", or the {entries[0].kind} below" if is_entry else "") + "\n\n"
    elif not is_entry:
        heading = f"{text} means {canonical(text)}\n\n"
    return heading + "\n\n".join(_page(entry) for entry in entries)


#: Descriptions of the requirements of entries.
_NEEDS = {
    "pacing": "a sender that paces",
    "spacing": "segments that are sent one by one at its pacing rate, not in bursts",
    "ecn": "ECN, with every mark echoed (accurate ECN); it is negotiated unless the scenario says otherwise",
    "loss-in-reduction": "a call for a loss within the reduction for a mark; others reduce once per window of data",
    "every-ack": "a call for every ACK; after slow start others may be called once per round trip",
}

_GROWTHS = ("growth", "whole", "router")


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
