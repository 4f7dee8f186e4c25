"""A paper as data: ``papers/PAPER.toml``, beside the code that its scenarios, measures and special figures need.

=====================  =========================================================================================
``authors`` …          ``title``, ``venue``, ``summary``, ``deviations``; ``kind``, that of claims which state none
``[[headline]]``       a sentence of the paper: ``key``, ``claim``, ``section``, ``quote``
``[placebo]``          ``by``, what replaces a tested algorithm; ``tested``, beginnings of the names of those
``[[experiment]]``     a figure or table: ``id``, ``title``, ``section``, ``published``, ``assumptions``, the sizes
                       ``quick`` and ``full``, ``flows``, the groups that claims compare, and blocks ``case``,
                       ``claim``, ``chart``, ``table``, ``why``
``[dimension.NAME]``   what the paper leaves open: ``name``, ``reason``, ``choices``, and ``values``, if code needs
                       others
``[[space]]``          claims over dimensions: ``id``, ``title``, ``dimensions``, ``flows`` as above, and blocks
                       ``case`` and ``claim``
``[published]`` …      any other table is for references: ``"@published.table1"``
=====================  =========================================================================================

`cwndlab.reproduction.templates` describes the templates in texts. Functions are found by name: a ``scenario`` in
``papers/PAPER_paths.py``, a ``measure`` or ``trace`` in ``papers/PAPER_measures.py``, a ``call`` of a chart, table or
sentence in ``papers/PAPER_figures.py``. ``CONTRIBUTING.md`` shows how to add a claim.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, ScenarioError
from cwndlab.reproduction import stated_claims
from cwndlab.reproduction.cases import Case, Size
from cwndlab.reproduction.claims import Claim, Headline
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.paper_keys import faults_of
from cwndlab.reproduction.stated_figures import Figures
from cwndlab.reproduction.templates import Block, Names, TemplateError, Templates, bound
from cwndlab.reproduction.universes import Dimension, Space, Universe

#: The folder of the papers.
FOLDER = Path(__file__).parent / "papers"


class Paper:
    """A paper.

    Parameters
    ----------
    path
        Its file; it is read when a property is used.

    Raises
    ------
    ScenarioError
        From its properties: the file has faults, each with its place.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.stem

    def __repr__(self) -> str:
        return f"<Paper {self.name}>"

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The file as it is."""
        try:
            document = tomllib.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ScenarioError(Fault(str(self.path), f"cannot be read: {error}", "write TOML in UTF-8")) from None
        faults = faults_of(document, self.path.name)
        if faults:
            raise ScenarioError(*faults)
        return document

    @cached_property
    def _templates(self) -> Templates:
        return Templates(self.document, self.code("paths"))

    @property
    def authors(self) -> str:
        """Its authors."""
        return str(self.document["authors"])

    @property
    def title(self) -> str:
        """Its title."""
        return str(self.document["title"])

    @property
    def venue(self) -> str:
        """Where it was published."""
        return str(self.document["venue"])

    @property
    def summary(self) -> Sequence[str]:
        """What was tried, what holds, what does not and why: a paragraph each."""
        return tuple(self.document["summary"])

    @property
    def deviations(self) -> Sequence[str]:
        """Where the algorithms deviate from what the paper prints, or decide what it leaves open."""
        return tuple(self.document.get("deviations", ()))

    @property
    def kind(self) -> str:
        """The kind of its claims: ``"own"`` of our experiments, which no paper has."""
        return str(self.document.get("kind", "claim"))

    @property
    def reference(self) -> str:
        """Authors, title, venue."""
        return f"{self.authors}, “{self.title}”, {self.venue}"

    @cached_property
    def headlines(self) -> tuple[Headline, ...]:
        """What it claims in its abstract, its conclusion and the summaries of its results."""
        return tuple(
            Headline(
                f"{self.name}:{one['key']}",
                one["claim"],
                one["section"],
                one.get("quote", ""),
                one.get("no_universes", ""),
            )
            for one in self.document.get("headline", ())
        )

    @cached_property
    def experiments(self) -> tuple[Experiment, ...]:
        """Its figures and tables."""
        made = []
        for number, block in enumerate(self.document.get("experiment", ())):
            with _place(self.path.name, f"experiment[{number}]"):
                made += [self._experiment(block, turn, number) for turn in self._templates.loops(block, {})]
        return tuple(made)

    @cached_property
    def spaces(self) -> tuple[Space, ...]:
        """Its claims over what it leaves open."""
        made = []
        for number, block in enumerate(self.document.get("space", ())):
            with _place(self.path.name, f"space[{number}]"):
                made.append(self._space(block, number))
        return tuple(made)

    def code(self, room: str) -> Callable[[str], Callable[..., Any]]:
        """Finds functions of one of the paper's modules, ``paths``, ``measures`` or ``figures``, by name."""
        module = f"cwndlab.reproduction.papers.{self.name.replace('-', '_')}_{room}"

        def find(name: str) -> Callable[..., Any]:
            function = getattr(import_module(module), name, None)
            if not callable(function):
                raise TemplateError(f"{module.rpartition('.')[2]}.py has no function '{name}'")
            return function  # type: ignore[no-any-return]

        return find

    def _code_of_cases(self, name: str) -> Callable[..., Any]:
        """A scenario's function, else a measure."""
        try:
            return self.code("measures")(name)
        except TemplateError:
            return self.code("paths")(name)

    def _experiment(self, block: Block, names: Names, number: int) -> Experiment:
        def text(name: str) -> str:
            return str(self._templates.fill(block[name], names))

        def blocks(name: str) -> Sequence[Block]:
            of = block.get(name, ())
            return self._templates.at(of[1:]) if isinstance(of, str) else of  # type: ignore[no-any-return]

        place, placebo = f"experiment[{number}]", self.document.get("placebo", {})
        figures = Figures(self._templates, names, self.code("figures"))
        return Experiment(
            f"{self.name}/{text('id')}",
            text("title"),
            text("section"),
            text("published"),
            self._templates.fill(block.get("assumptions", []), names),
            _size(self._templates.fill(block["quick"], names)),
            _size(self._templates.fill(block["full"], names)),
            remembered(partial(self._cases_of_size, place, blocks("case"), names)),
            partial(self._claims_of_size, block, place, blocks("claim"), names),
            partial(self._drawn, place, figures.charts, blocks("chart")),
            partial(self._drawn, place, figures.tables, blocks("table")),
            partial(self._drawn, place, figures.why, blocks("why")),
            placebos=tuple(placebo.get("by", ())),
            tested=tuple(placebo.get("tested", ())),
        )

    def _cases_of_size(self, place: str, blocks: Sequence[Block], names: Names, size: Size) -> list[Case]:
        return self._cases(place, blocks, {**names, **_names_of(size)})

    def _claims_of_size(
        self, experiment: Block, place: str, blocks: Sequence[Block], names: Names, size: Size
    ) -> list[Claim]:
        return self._claims_about(experiment, place, blocks, {**names, **_names_of(size)})

    def _claims_about(self, of: Block, place: str, blocks: Sequence[Block], names: Names) -> list[Claim]:
        """The claims of an experiment or a space, which may name the groups of flows that they compare."""
        flows = tuple(of.get("flows", ()))
        return [replace(one, flows=one.flows or flows) for one in self._claims(place, blocks, names)]

    def _drawn(
        self, place: str, draw: Callable[[Sequence[Block], Measured], Any], blocks: Sequence[Block], measured: Measured
    ) -> Any:
        with _place(self.path.name, place):
            return draw(blocks, measured)

    def _cases(self, place: str, blocks: Sequence[Block], names: Names) -> list[Case]:
        with _place(self.path.name, place):
            return stated_claims.cases(self._templates, blocks, names, self._code_of_cases)

    def _claims(self, place: str, blocks: Sequence[Block], names: Names) -> list[Claim]:
        with _place(self.path.name, place):
            return stated_claims.claims(self._templates, blocks, names, self.name, self.kind)

    def _space(self, block: Block, number: int) -> Space:
        stated = [self._templates.at(f"dimension.{name}") for name in self._templates.fill(block["dimensions"], {})]
        dimensions = [Dimension(one["name"], one["reason"], tuple(one["choices"])) for one in stated]
        values = {
            one["name"]: dict(zip(one["choices"], one.get("values", one["choices"]), strict=True)) for one in stated
        }
        place = f"space[{number}]"

        def names(universe: Universe) -> Names:
            """The choice of each dimension by its name, and what it stands for (`templates`), all of them as
            ``universe``."""
            given: dict[str, Any] = {"universe": dict(universe)}
            for name, choice in universe.items():
                given |= bound(name, choice, values[name][choice])
            # Values may name those of other dimensions.
            for name, choice in universe.items():
                given |= bound(name, choice, self._templates.fill(values[name][choice], given))
            return given

        return Space(
            f"{self.name}/{block['id']}",
            block["title"],
            dimensions,
            lambda universe: self._cases(place, block["case"], names(universe)),
            lambda universe: self._claims_about(block, place, block["claim"], names(universe)),
            **{name: block[name] for name in ("repetitions", "universes", "quick") if name in block},
        )


def remembered(cases: Callable[[Size], list[Case]]) -> Callable[[Size], list[Case]]:
    """The same function, which makes the cases of a size once: a grid has thousands."""
    made: dict[str, list[Case]] = {}

    def of_size(size: Size) -> list[Case]:
        name = repr(size)
        if name not in made:
            made[name] = cases(size)
        return list(made[name])

    return of_size


@contextmanager
def _place(file: str, place: str) -> Iterator[None]:
    """Reports what a block lacks as a fault of the file."""
    try:
        yield
    except TemplateError as error:
        inner, _, what = str(error).partition(": ")
        inside = inner.startswith(("case[", "claim["))
        where = f"{file}: {place}.{inner}" if inside else f"{file}: {place}"
        raise ScenarioError(Fault(where, what if inside else str(error))) from None


def _size(given: Mapping[str, Any]) -> Size:
    """A size: ``duration_s``, ``repetitions``, and lists of grid points."""
    points = {name: tuple(one) for name, one in given.items() if name not in ("duration_s", "repetitions")}
    return Size(float(given["duration_s"]), given["repetitions"], points)


def _names_of(size: Size) -> dict[str, Any]:
    """The named values of a size: ``size.duration_s``, and ``size.POINTS`` with its ``first``, ``second``, ``middle``,
    ``last``, ``later`` (all but the first), ``least`` and ``most``; of a single list of points ``size.axis`` too."""
    names: dict[str, Any] = {"size.duration_s": size.duration_s}
    lists = dict(size.points) | ({"axis": next(iter(size.points.values()))} if len(size.points) == 1 else {})
    for name, points in lists.items():
        names[f"size.{name}"] = list(points)
        names |= {f"size.{name}.first": points[0], f"size.{name}.last": points[-1]}
        names |= {f"size.{name}.middle": points[len(points) // 2], f"size.{name}.later": list(points[1:])}
        names |= {f"size.{name}.second": points[1]} if len(points) > 1 else {}
        names |= {f"size.{name}.least": min(points), f"size.{name}.most": max(points)}
    return names
