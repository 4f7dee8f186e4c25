"""Claims and cases from the blocks of a paper file (`cwndlab.reproduction.paper_file` has the file's form)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.claims import (
    KINDS,
    Claim,
    Control,
    Greater,
    Indiscriminate,
    Landmark,
    Less,
    Order,
    Overall,
    RatioIn,
    Relation,
    Shape,
    Term,
    Underspecified,
    Value,
    ValueIn,
    Welch,
)
from cwndlab.reproduction.templates import Block, Code, Names, TemplateError, Templates


def _ratio(of: Any) -> dict[str, Any]:
    """Arguments of a direction: none, or a table in which ``gain`` is a ratio minus 1."""
    if of is True:
        return {}
    return {"ratio" if name == "gain" else name: 1 + one if name == "gain" else one for name, one in of.items()}


def _value(of: Any) -> Value:
    return Value(**of) if isinstance(of, Mapping) else Value(of)


#: The relation of a claim by the key that states it.
RELATIONS: Mapping[str, Callable[[Any], Relation]] = {
    "greater": lambda of: Greater(**_ratio(of)),
    "less": lambda of: Less(**_ratio(of)),
    "alike": lambda of: RatioIn(of, 1 / of),
    "ratio_in": lambda of: RatioIn(*of),
    "value": _value,
    "value_in": lambda of: ValueIn(*of),
    "order": lambda of: Order(),
    "overall": lambda of: Overall(**{**of, "terms": [Term(**term) for term in of["terms"]]}),
    "landmarks": lambda of: Shape([Landmark(mark["title"], mark["metric"], *mark["within"]) for mark in of]),
    "welch": lambda of: Welch(**of),
    "underspecified": Underspecified,
    "indiscriminate": Indiscriminate,
}


def claims(templates: Templates, blocks: Sequence[Block], names: Names, paper: str, kind: str = "claim") -> list[Claim]:
    """The claims of an experiment or of a universe.

    Raises
    ------
    TemplateError
        A block names something that is not there, or no relation; the message begins with its number.
    """
    found = []
    for number, block, turn in templates.blocks(blocks, names):
        try:
            found.append(_claim(templates, block, turn, paper, kind))
        except (TemplateError, TypeError, KeyError, ValueError) as error:
            raise TemplateError(f"claim[{number}]: {_words(error)}") from None
    return found


def _words(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)


def _claim(templates: Templates, block: Block, turn: Names, paper: str, usual: str) -> Claim:
    def filled(name: str, default: Any = "") -> Any:
        return templates.fill(block[name], turn) if name in block else default

    kinds = filled("kind", usual)
    kind = kinds if isinstance(kinds, str) else "reading" if "reading" in kinds else kinds[0]
    if kind not in KINDS:
        raise TemplateError(f"no kind is called '{kind}'; there are {', '.join(KINDS)}")
    key, metric = filled("headline"), filled("metric")
    return Claim(
        filled("quantity"),
        filled("published"),
        tuple(metric) if isinstance(metric, list) else metric,
        _sides(filled("sides", []), filled("where", {})),
        _relation(templates, block, turn),
        filled("beside", None) or None,
        kind=kind,
        headline=f"{paper}:{key}" if key and kind != "reading" else "",
        each=filled("each"),
        at=tuple(filled("at", ())),
        controls=[Control(**one) for one in filled("controls", []) if _all(one.pop("when", True))],
        flows=tuple(filled("flows", ())),
        placebo=filled("placebo"),
    )


def _all(when: Any) -> bool:
    """A condition, or all of several."""
    return all(when) if isinstance(when, list) else bool(when)


def _sides(sides: Any, where: Labels) -> list[Labels]:
    """The labels of each side: of a list of tables, or of a table of which one label has a list of values."""
    if isinstance(sides, list):
        return [{**side, **where} for side in sides]
    (varied,) = [name for name, value in sides.items() if isinstance(value, list)]
    return [{**sides, varied: value, **where} for value in sides[varied]]


def _relation(templates: Templates, block: Block, turn: Names) -> Relation:
    block = block if "relation" not in block else {**block, **templates.fill(block["relation"], turn)}
    stated = [name for name in RELATIONS if name in block]
    if len(stated) != 1:
        what = "states no relation" if not stated else f"states several relations, {' and '.join(stated)}"
        raise TemplateError(f"{what}; there are {', '.join(RELATIONS)}")
    unsettled = templates.fill(block["unsettled"], turn) if "unsettled" in block else None
    if unsettled and templates.fill("{size.duration_s}", turn) < unsettled["below_s"]:
        return Indiscriminate(unsettled["reason"])
    return RELATIONS[stated[0]](templates.fill(block[stated[0]], turn))


def cases(templates: Templates, blocks: Sequence[Block], names: Names, code: Code) -> list[Case]:
    """The cases of an experiment or of a universe.

    Raises
    ------
    TemplateError
        A block names something that is not there; the message begins with its number.
    """
    found = []
    for number, block, turn in templates.blocks(blocks, names):
        try:
            labels = templates.fill(block["labels"], turn)
            scenario = _scenario(templates, block, turn, code)
            trace = code(block["trace"]) if "trace" in block else None
            found.append(Case(labels, scenario, code(block["measure"]), trace))
        except (TemplateError, TypeError, KeyError, ValueError) as error:
            raise TemplateError(f"case[{number}]: {_words(error)}") from None
    return found


def _scenario(templates: Templates, block: Block, turn: Names, code: Code) -> Mapping[str, Any]:
    function, given = code(block["scenario"]), templates.fill(block.get("with", {}), turn)
    if "size.duration_s" in turn and "duration_s" not in given:
        given["duration_s"] = turn["size.duration_s"]
    try:
        inspect.signature(function).bind(**given)
    except TypeError as error:
        raise TemplateError(f"scenario '{block['scenario']}': {error}") from None
    document: Mapping[str, Any] = function(**given)
    return document
