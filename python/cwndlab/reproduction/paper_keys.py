"""The keys of a paper file: which there are, which are needed, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cwndlab.errors import Fault, near
from cwndlab.reproduction.stated_claims import RELATIONS


class _Keys(NamedTuple):
    """Of a table: needed and further keys, with the types of their values; tables inside it by key."""

    needed: Mapping[str, tuple[type, ...]]
    further: Mapping[str, tuple[type, ...]] = {}
    inner: Mapping[str, _Keys] = {}
    open: bool = False
    """Whether it may have other keys too."""


_TEXT, _LIST, _TABLE, _NUMBER = (str,), (list, str), (dict, str), (int, float, str)
_ANY: tuple[type, ...] = (object,)
_LOOPS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("for", "within", "let", "only", "skip"), _TABLE),
    "when": _ANY,
}

_CLAIM = _Keys(
    {"quantity": _TEXT, "published": _TEXT},
    {
        **_LOOPS,
        "metric": (str, list),
        "sides": (list, dict, str),
        "where": _TABLE,
        "beside": _TEXT,
        "kind": (str, list),
        "headline": _TEXT,
        "each": _TEXT,
        "at": _LIST,
        "controls": _LIST,
        "flows": (list,),
        "placebo": _TEXT,
        "unsettled": _TABLE,
        "relation": _TABLE,
        **dict.fromkeys(RELATIONS, _ANY),
    },
)
_CASE = _Keys({"labels": _TABLE, "scenario": _TEXT, "measure": _TEXT}, {**_LOOPS, "trace": _TEXT, "with": _TABLE})
_CURVE = _Keys(
    {},
    {
        **_LOOPS,
        "label": _TEXT,
        "panel": _TEXT,
        "over": _TEXT,
        "points": (dict,),
        "x": _ANY,
        "y": _ANY,
        "line": _TEXT,
        "metric": _TEXT,
        "where": _TABLE,
        "factor": _NUMBER,
    },
)
_CHART = _Keys({}, {}, {"curve": _CURVE}, open=True)
_ROW = _Keys({"cells": _LIST}, {**_LOOPS, "where": _TABLE})
_DRAWN = _Keys({}, {}, {"row": _ROW}, open=True)
_SIZE = _Keys({"duration_s": _NUMBER, "repetitions": (int, str)}, open=True)
_EXPERIMENT = _Keys(
    {
        "id": _TEXT,
        "title": _TEXT,
        "section": _TEXT,
        "published": _TEXT,
        "quick": _TABLE,
        "full": _TABLE,
        "case": _LIST,
        "claim": _LIST,
        "chart": _LIST,
    },
    {**_LOOPS, "assumptions": _LIST, "flows": (list,), "table": _LIST, "why": _LIST},
    {"quick": _SIZE, "full": _SIZE, "case": _CASE, "claim": _CLAIM, "chart": _CHART, "table": _DRAWN, "why": _DRAWN},
)
_DIMENSION = _Keys({"name": _TEXT, "reason": _TEXT, "choices": (list,)}, {"values": (list,)})
_SPACE = _Keys(
    {"id": _TEXT, "title": _TEXT, "dimensions": (list,), "case": (list,), "claim": (list,)},
    {"flows": (list,), "repetitions": (int,), "universes": (int,), "quick": (int,)},
    {"case": _CASE, "claim": _CLAIM},
)
_PAPER = _Keys(
    {"authors": _TEXT, "title": _TEXT, "venue": _TEXT, "summary": (list,)},
    {
        **{"deviations": (list,), "headline": (list,), "experiment": (list,), "space": (list,)},
        "placebo": _TABLE,
        "kind": _TEXT,
    },
    {
        "placebo": _Keys({"by": (list,)}, {"tested": (list,)}),
        "headline": _Keys({"key": _TEXT, "claim": _TEXT, "section": _TEXT}, {"quote": _TEXT, "no_universes": _TEXT}),
        "experiment": _EXPERIMENT,
        "space": _SPACE,
    },
    open=True,
)
_NAMES = {str: "a text", list: "a list", dict: "a table", int: "a number", float: "a number", bool: "true or false"}


def faults_of(document: Mapping[str, Any], file: str) -> list[Fault]:
    """All unknown, missing and mistyped keys of a paper file, each with its place."""
    faults = list(_faults(document, _PAPER, file, ""))
    dimensions = document.get("dimension", {})
    for name, one in dimensions.items():
        faults += _faults(one, _DIMENSION, file, f"dimension.{name}")
        if "values" in one and len(one["values"]) != len(one.get("choices", ())):
            what = f"has {len(one['values'])} values for {len(one.get('choices', ()))} choices"
            faults.append(Fault(f"{file}: dimension.{name}", what, "give a value for each choice, in their order"))
    known = [one.get("key") for one in document.get("headline", ())]
    for place, claim in _claims(document):
        key = claim.get("headline", "")
        if isinstance(key, str) and key and "{" not in key and key not in known:
            hint = near(key, [str(one) for one in known]) if known else "add a [[headline]] with this key"
            faults.append(Fault(f"{file}: {place}.headline", f"no headline has the key '{key}'", hint))
    return faults


def _claims(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for kind in ("experiment", "space"):
        for number, one in enumerate(document.get(kind, ())):
            claims = one.get("claim", ())
            if isinstance(claims, list):
                yield from ((f"{kind}[{number}].claim[{at}]", claim) for at, claim in enumerate(claims))


def _faults(table: Any, keys: _Keys, file: str, place: str) -> Iterator[Fault]:
    if not isinstance(table, Mapping):
        yield Fault(f"{file}: {place}", "is not a table", f"write [{place}]")
        return
    inside = f"{place}." if place else ""
    known = {**keys.needed, **keys.further}
    for name in keys.needed:
        if name not in table:
            yield Fault(f"{file}: {place}" if place else file, f"'{name}' is missing", f"add {name} = …")
    for name, value in table.items():
        if name not in known and name not in keys.inner:
            if not keys.open:
                yield Fault(f"{file}: {inside}{name}", "is not a key here", near(name, list(known)))
            continue
        types = known.get(name, _ANY)
        if types != _ANY and (not isinstance(value, types) or isinstance(value, bool)):
            wanted = " or ".join(dict.fromkeys(_NAMES[one] for one in types))
            yield Fault(f"{file}: {inside}{name}", f"is {_NAMES.get(type(value), 'something else')}, not {wanted}")
        elif name in keys.inner and not isinstance(value, str):
            yield from _inner(value, keys.inner[name], file, f"{inside}{name}")


def _inner(value: Any, keys: _Keys, file: str, place: str) -> Iterator[Fault]:
    if isinstance(value, Sequence):
        for number, one in enumerate(value):
            yield from _faults(one, keys, file, f"{place}[{number}]")
    else:
        yield from _faults(value, keys, file, place)
