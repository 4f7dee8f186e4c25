"""The stack profiles: the values in which stacks differ, as the engine declares them."""

from __future__ import annotations

from dataclasses import dataclass

from cwndlab.engine import stack_fields

__all__ = ["Field", "fields", "markdown", "profiles"]


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field that a flow's ``stack = { … }`` may override."""

    name: str
    meaning: str
    accepts: str
    """What a scenario may write."""
    values: dict[str, str]
    """Its value in each profile; ``none`` where there is none."""


def profiles() -> list[str]:
    """The names of the profiles; the first one is the default.

    >>> profiles()
    ['linux', 'rfc', 'ns2', 'windows-10-20h1']
    """
    return list(stack_fields()[0])


def fields() -> list[Field]:
    """Every field of a stack, in the order of the engine's declarations.

    >>> next(field for field in fields() if field.name == "min_rto").values["rfc"]
    '1 s'
    """
    names, rows = stack_fields()
    return [
        Field(name=name, meaning=meaning, accepts=accepts, values=dict(zip(names, values, strict=True)))
        for name, meaning, accepts, values in rows
    ]


def markdown() -> str:
    """The table of ``docs/stack.md``."""
    names = profiles()
    lines = [
        f"| field | meaning | may be | {' | '.join(f'`{name}`' for name in names)} |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for field in fields():
        cells = [f"`{field.name}`", field.meaning, field.accepts, *(field.values[name] for name in names)]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def __dir__() -> list[str]:
    return __all__
