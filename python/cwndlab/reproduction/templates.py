"""Templates of paper files: texts with named values, loops, and references to other places of the file.

========================  ====================================================================================
``"{loss}"``              a named value as it is: a number stays a number, a list a list
``"loss {loss:g}"``       a text with named values, in a format of Python; a list is joined by commas
``"@lists.losses"``       what the file has at this place
``["a", "*lists.more"]``  a list continued by another one, or by the names of a table
``["a", "*{others}"]``    the same by a named list; ``"{@texts.busy}"`` is another place within a text
``for``                   loops, outermost first: ``{loss = [0.0, 0.1]}`` names each element ``loss``; blocks that
                          follow each other with the same loops share them
``{of = LIST, below = x}``  the elements of a list below ``x``; ``from`` and ``without`` alike
``{of = LIST, spread = n}``  so many of them, spread evenly
``{call = NAME}``         what a function of the paper returns
``{each = LOOPS, make = x}``  a list with ``x`` for each turn of loops
``within``                further loops, of this block alone
``let``                   further named values, from those of the loops
========================  ====================================================================================

A loop over a table names each key ``x``, its value ``x.value``, and the fields of that, if it is a table, ``x.FIELD``.
In a list of tables, ``x`` is their field ``name``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from itertools import groupby
from typing import Any, TypeAlias

#: Named values.
Names: TypeAlias = dict[str, Any]
#: A table of a paper file.
Block: TypeAlias = Mapping[str, Any]

_BOUNDS = frozenset({"below", "from", "without", "spread"})
_FIELD = re.compile(r"\{([^{}]+?)(?::([^{}:]*))?\}")


#: Finds a function by its name.
Code: TypeAlias = Callable[[str], Callable[..., Any]]


class TemplateError(Exception):
    """A template that cannot be filled: the message has what is missing, and what there is."""


def _no_code(name: str) -> Callable[..., Any]:
    raise TemplateError(f"there is no function '{name}' here")


class Templates:
    """Fills templates of a file.

    Parameters
    ----------
    document
        The file, for references.
    code
        Finds a function by its name, for ``{call = NAME}``.
    """

    def __init__(self, document: Block, code: Code = _no_code) -> None:
        self._document, self._code = document, code

    def at(self, place: str) -> Any:
        """What the file has at a place: names with dots between."""
        found: Any = self._document
        for name in place.split("."):
            if not isinstance(found, Mapping) or name not in found:
                known = f"; the file has {', '.join(found)}" if isinstance(found, Mapping) else ""
                raise TemplateError(f"'@{place}': there is no '{name}'{known}")
            found = found[name]
        return found

    def fill(self, value: Any, names: Names) -> Any:
        """A value with all templates in it filled.

        Examples
        --------
        >>> templates = Templates({"lists": {"others": ["b", "c"]}})
        >>> templates.fill({"x": ["a", "*lists.others"], "y": "{n}", "z": "n = {n:.1f}"}, {"n": 2})
        {'x': ['a', 'b', 'c'], 'y': 2, 'z': 'n = 2.0'}
        """
        if isinstance(value, str):
            return self._text(value, names)
        if isinstance(value, Mapping) and {"each", "make"} == value.keys():
            return [self.fill(value["make"], turn) for turn in self.loops({"for": value["each"]}, names)]
        if isinstance(value, Mapping) and {"call"} == value.keys():
            return self._code(value["call"])()
        if isinstance(value, Mapping) and "of" in value and value.keys() & _BOUNDS:
            return _chosen({name: self.fill(one, names) for name, one in value.items()})
        if isinstance(value, Mapping):
            return {self._text(name, names): self.fill(one, names) for name, one in value.items()}
        if isinstance(value, Sequence):
            filled: list[Any] = []
            for one in value:
                if isinstance(one, str) and one.startswith("*"):
                    filled += self._text(one[1:] if one.startswith("*{") else f"@{one[1:]}", names)
                else:
                    filled.append(self.fill(one, names))
            return filled
        return value

    def _text(self, text: str, names: Names) -> Any:
        if text.startswith("@"):
            return self.fill(self.at(self._text(text[1:], names)), names)
        whole = _FIELD.fullmatch(text)
        if whole is not None and whole[2] is None:
            return self._named(names, whole[1])
        return _FIELD.sub(lambda field: _shown(self._named(names, field[1]), field[2] or ""), text)

    def _named(self, names: Names, name: str) -> Any:
        """A named value, or what the file has at another place."""
        if name.startswith("@"):
            return self.fill(self.at(name[1:]), names)
        try:
            return names[name]
        except KeyError:
            raise TemplateError(f"nothing is called '{{{name}}}' here; there are {', '.join(names)}") from None

    def loops(self, block: Block, names: Names) -> Iterator[Names]:
        """The named values of each turn of the loops of a block that it takes, with those of its ``let``."""
        stated = self._loops_of(block, "for")
        only, skip = (self.fill(block.get(name, {}), names) for name in ("only", "skip"))
        for turn in self._turns(list(stated.items()), names, only, skip):
            for name, value in block.get("let", {}).items():
                turn = extended(turn, {name: self.fill(value, turn)})
            yield turn

    def _loops_of(self, block: Block, key: str) -> Block:
        """The loops of a block, which may be at another place of the file."""
        loops = block.get(key, {})
        found: Block = self.at(loops[1:]) if isinstance(loops, str) else loops
        return found

    def _turns(self, loops: list[tuple[str, Any]], names: Names, only: Block, skip: Block) -> Iterator[Names]:
        if not loops:
            yield names
            return
        (name, values), *inner = loops
        filled = self.fill(values, names)
        elements = filled.items() if isinstance(filled, Mapping) else ((_name(one), one) for one in filled)
        for key, element in elements:
            if (name in only and key not in only[name]) or (name in skip and key in skip[name]):
                continue
            yield from self._turns(inner, extended(names, bound(name, key, element)), only, skip)

    def blocks(self, blocks: Sequence[Block], names: Names) -> Iterator[tuple[int, Block, Names]]:
        """Every block with every turn of its loops, and its number; neighbours with the same loops share the turns.

        Turns are left out by ``only`` and ``skip``, lists of values by name, and where ``when`` is empty or false.
        """
        for _, group in groupby(enumerate(blocks), key=lambda pair: pair[1].get("for", {})):
            neighbours = list(group)
            for outer in self.loops({"for": neighbours[0][1].get("for", {})}, names):
                for number, block in neighbours:
                    if not self._is_of(block, outer):
                        continue
                    inner = {**block, "for": block.get("within", {})}
                    for turn in self.loops(inner, outer):
                        if self.fill(block.get("when", True), turn):
                            yield number, block, turn

    def _is_of(self, block: Block, outer: Names) -> bool:
        """Whether a block takes a turn of the loops that it shares."""
        only, skip = (self.fill(block.get(name, {}), outer) for name in ("only", "skip"))
        for name in (*only, *skip):
            if name not in outer and name not in self._loops_of(block, "within"):
                raise TemplateError(f"nothing is called '{name}' here; there are {', '.join(outer)}")
        return all(outer[name] in values for name, values in only.items() if name in outer) and not any(
            outer[name] in values for name, values in skip.items() if name in outer
        )


def extended(names: Names, more: Names) -> Names:
    """Named values with further ones; of the same class."""
    found = copy(names)
    found.update(more)
    return found


def bound(name: str, key: Any, value: Any) -> dict[str, Any]:
    """The names of an element of a loop."""
    names = {name: key, f"{name}.value": value}
    if isinstance(value, Mapping):
        for field, one in value.items():
            names |= bound(f"{name}.{field}", one, one)
    return names


def _name(element: Any) -> Any:
    return element["name"] if isinstance(element, Mapping) else element


def _shown(value: Any, form: str) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(format(one, form) for one in value)
    return format(value, form)


def _chosen(value: Block) -> list[Any]:
    """Elements of a list."""
    if "spread" in value:
        step = max(1, len(value["of"]) // value["spread"])
        return list(value["of"][step - 1 :: step][: value["spread"]])
    low, high = value.get("from", float("-inf")), value.get("below", float("inf"))
    return [
        one
        for one in value["of"]
        if one not in value.get("without", ()) and (isinstance(one, str) or low <= one < high)
    ]
