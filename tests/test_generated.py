"""`make docs` and the part of `make check` that finds stale tables: tools/generated.py, tools/refresh_docs.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import doc_blocks
import generated
import pytest
import refresh_docs
from generated import Recipe
from refresh_docs import Part

PAGE = """\
# Page

<!-- output: metrics -->

old

<!-- end -->

Between.

<!-- output: matrix; from: 0123456789abcdef -->

    $ command

<!-- end -->
"""
SIMULATED = Recipe("simulated", "cwndlab matrix", 1, algorithms=("cubic",), metrics=("goodput_bps",))


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "docs" / "page.md"
    file.parent.mkdir()
    file.write_text(PAGE)
    return file


def digest(entry: Recipe = SIMULATED) -> str:
    return generated.digest(generated.inputs("matrix", entry))


def test_blocks_are_found_with_what_they_say_that_they_are_made_from(page: Path) -> None:
    found = list(generated.blocks([page]))
    assert [(block.name, block.digest) for block in found] == [("metrics", None), ("matrix", "0123456789abcdef")]
    assert found[0].body == "\nold\n\n"


def test_one_block_is_replaced_and_nothing_else() -> None:
    made = generated.replaced(PAGE, "matrix", "\nnew\n\n", "fedcba9876543210")
    assert made == PAGE.replace("0123456789abcdef", "fedcba9876543210").replace("    $ command", "new")
    assert generated.replaced(PAGE, "metrics", "\nold\n\n", None) == PAGE


def changed(monkeypatch: pytest.MonkeyPatch, kind: str, change: Callable[[dict[str, Any]], None]) -> None:
    """As if the committed fingerprints were others."""
    kept = {
        name: json.loads(json.dumps(generated.fingerprints(name)))
        for name in ("record-hashes", "metric-values", "algorithm-hashes")
    }
    change(kept[kind])
    monkeypatch.setattr(generated, "fingerprints", kept.__getitem__)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("record-hashes", lambda kept: kept["single"].update(hash="0")),
        ("algorithm-hashes", lambda kept: kept["cubic"].update(window="0")),
        ("metric-values", lambda kept: kept["single"].update(goodput_bps=1.0)),
    ],
)
def test_other_results_make_a_block_stale(
    kind: str, change: Callable[[dict[str, Any]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digest()
    changed(monkeypatch, kind, change)
    assert digest() != before


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("algorithm-hashes", lambda kept: kept["vegas"].update(window="0")),
        ("metric-values", lambda kept: kept["single"].update(a_new_metric=1.0, jain=0.5)),
    ],
)
def test_results_that_a_block_does_not_show_leave_it(
    kind: str, change: Callable[[dict[str, Any]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digest()
    changed(monkeypatch, kind, change)
    assert digest() == before


def test_another_form_command_or_plan_makes_a_block_stale() -> None:
    before = digest()
    assert digest(replace(SIMULATED, form=2)) != before
    assert digest(replace(SIMULATED, command="cwndlab matrix --seed 2")) != before
    assert generated.digest(generated.inputs("matrix", SIMULATED, ["a run"])) != before


def test_remarks_and_layout_of_a_file_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "ROOT", tmp_path)
    entry = replace(SIMULATED, files=("*.toml",))
    (tmp_path / "a.toml").write_text("x = 1\ny = 2\n")
    before = digest(entry)
    (tmp_path / "a.toml").write_text("# another order\ny = 2 # and a remark\n\nx = 1\n")
    assert digest(entry) == before
    (tmp_path / "a.toml").write_text("x = 1\ny = 3\n")
    assert digest(entry) != before


def test_what_a_recipe_names_must_be_there() -> None:
    with pytest.raises(LookupError, match="no algorithm is called 'cubik'"):
        digest(replace(SIMULATED, algorithms=("cubik",)))


def test_every_recipe_is_sound() -> None:
    """Of simulated blocks: scenarios, files, algorithms and metrics exist."""
    for name, entry in generated.recipes().items():
        assert entry.kind in generated.KINDS, name
        assert entry.takes_s >= 0
        for pattern in entry.files:
            assert list(generated.ROOT.glob(pattern)), f"{name}: {pattern}"
        if entry.kind == "simulated":
            generated.inputs(name, replace(entry, files=()))


def test_a_changed_table_of_declarations_is_stale(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "pages", lambda: [page])
    monkeypatch.setattr(refresh_docs, "ROOT", page.parents[1])
    found = "\n".join(refresh_docs.faults())
    assert "docs/page.md: 'metrics' differs from the current output of .venv/bin/cwndlab list --metrics" in found
    (block, _) = generated.blocks([page])
    refresh_docs._make_block(block, generated.recipes()["metrics"])
    assert "'metrics' differs" not in "\n".join(refresh_docs.faults())
    assert "docs/page.md: 'matrix' has the digest 0123456789abcdef, the digest of current results is " in found


def test_a_block_whose_command_fails_stays_as_it_was(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise OSError("no such program")

    monkeypatch.setitem(doc_blocks.MAKERS, "metrics", fail)
    (block, _) = generated.blocks([page])
    with pytest.raises(OSError, match="no such program"):
        refresh_docs._make_block(block, generated.recipes()["metrics"])
    assert page.read_text() == PAGE
    assert [file.name for file in page.parent.iterdir()] == ["page.md"]


class Bench:
    """Parts that only tell that they were made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.made: list[str] = []
        self.parts: list[Part] = []
        monkeypatch.setattr(refresh_docs, "STATE", folder / "docs.json")
        monkeypatch.setattr(refresh_docs, "parts", lambda words: self.parts)

    def add(
        self,
        name: str,
        kind: str,
        *,
        takes_s: float = 1,
        fresh: bool = False,
        lacks: str = "",
        error: BaseException | None = None,
    ) -> None:
        def make() -> None:
            if error is not None:
                raise error
            self.made.append(name)

        self.parts.append(Part(name, "page.md", kind, takes_s, lacks.split(), fresh, make))


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    return Bench(monkeypatch, tmp_path)


def test_it_says_first_how_long_it_takes_and_last_what_is_left_out(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.add("table", "simulated", takes_s=50)
    bench.add("other", "simulated", fresh=True)
    bench.add("peers", "timed", lacks="ns")
    bench.add("speed", "timed", takes_s=100)
    assert refresh_docs.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "simulated     50 s  page.md: table",
        "timed        100 s  page.md: speed",
        "2 parts, about 2 min; 1 are up to date",
    ]
    assert lines[-1] == "omitted: page.md: peers: needs ns"
    assert bench.made == ["table", "speed"]


def test_what_a_part_needs_is_looked_for(tmp_path: Path) -> None:
    entry = replace(
        SIMULATED, needs=("sh", "no-such-program", str(tmp_path), "/no/such/file", "python:json", "python:nosuch")
    )
    assert entry.lacking() == ["no-such-program", "/no/such/file", "python:nosuch"]


def test_a_word_does_not_count_as_a_whole_call(bench: Bench) -> None:
    bench.add("speed", "timed")
    assert refresh_docs.main(["speed"]) == 0
    assert refresh_docs.main([]) == 0
    assert bench.made == ["speed", "speed"]


def test_what_failed_is_said_and_the_others_are_made(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.add("broken", "simulated", error=OSError("no such program"))
    bench.add("table", "simulated")
    assert refresh_docs.main([]) == 1
    assert bench.made == ["table"]
    assert "failed: page.md: broken: no such program" in capsys.readouterr().out


def test_an_interrupted_call_goes_on_where_it_was(bench: Bench) -> None:
    """What was measured is not measured again; a call that ran to its end begins anew."""
    bench.add("first", "timed")
    bench.add("second", "timed", error=KeyboardInterrupt())
    assert refresh_docs.main([]) == 130
    bench.parts.pop()
    bench.add("second", "timed")
    assert refresh_docs.main([]) == 0
    assert bench.made == ["first", "second"]
    assert refresh_docs.main([]) == 0
    assert bench.made == ["first", "second", "first", "second"]


def test_parts_are_in_the_order_of_their_kinds() -> None:
    """Timed parts last: nothing of ours runs beside them."""
    kinds = [part.kind for part in refresh_docs.parts([])]
    assert kinds == sorted(kinds, key=generated.KINDS.index)
    assert {"declared", "simulated", "timed"} <= set(kinds)


def test_a_word_means_blocks_and_pages_of_its_name() -> None:
    found = {part.key for part in refresh_docs.parts(["README"])}
    assert found == {"README.md: compare", "README.md: facts"}
    assert all("bench" in part.name for part in refresh_docs.parts(["bench"]))
    assert [part.key for part in refresh_docs.parts(["vegas"])] == ["docs/algorithms: pictures of vegas"]


def test_an_unknown_option_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert refresh_docs.main(["--chekc"]) == 2
    assert "--check" in capsys.readouterr().out
