"""JSON Schemas of scenario, sweep and tune files, and the canonical form as documented."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import cwndlab
import jsonschema
import pytest
from cwndlab.scenario.presets import folder
from cwndlab.study.schemas import KINDS, of

ROOT = Path(__file__).resolve().parents[1]
PRESETS = sorted(folder().glob("*.toml"))


def faults(kind: str, document: dict[str, Any]) -> list[str]:
    """What a schema says of a document."""
    return [error.json_path for error in jsonschema.Draft202012Validator(of(kind)).iter_errors(document)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_a_schema(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(of(kind))


@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
def test_every_preset_fits_the_schema(preset: Path) -> None:
    assert faults("scenario", tomllib.loads(preset.read_text(encoding="utf-8"))) == []


def test_examples_of_sweeps_and_tunings_fit_their_schemas() -> None:
    seen = set()
    for path in sorted((ROOT / "examples").glob("*.toml")):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        kind = next((kind for kind in ("sweep", "tune") if kind in document), None)
        if kind:
            assert faults(kind, document) == [], path.name
            seen.add(kind)
    assert "tune" in seen


def test_what_the_reader_refuses_by_field_the_schema_refuses() -> None:
    document = cwndlab.presets.load("two-flows").to_document()
    assert faults("scenario", document) == []
    changes: list[tuple[dict[str, Any], str]] = [
        ({"duration": "10"}, "$.duration"),
        ({"duration": 10}, "$.duration"),
        ({"packets": "yes"}, "$.packets"),
        ({"durtion": "10 s"}, "$"),
    ]
    for change, path in changes:
        assert path in faults("scenario", {**document, **change})
    queue = {"kind": "codel", "target": "5 ms", "max_p": 0.1}
    document["dumbbell"]["bottleneck"]["queue"] = queue
    assert faults("scenario", document) == ["$.dumbbell.bottleneck.queue"]


def test_the_hash_is_that_of_the_canonical_form_as_documented() -> None:
    for preset in PRESETS:
        scenario = cwndlab.presets.load(preset.stem)
        text = json.dumps(json.loads(scenario.canonical), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == scenario.hash, preset.stem


def test_the_command_prints_the_published_schemas(cli: Any) -> None:
    for kind in KINDS:
        status, out, err = cli("schema", kind)
        assert (status, err) == (0, "")
        assert out == (ROOT / "docs" / "schema" / f"{kind}.schema.json").read_text(encoding="utf-8")
    status, out, err = cli("schema", "flow")
    assert (status, out) == (2, "")
    assert err == "KIND: no kind of file is called 'flow'\n  hint: there are scenario, sweep, compare, tune\n"


def test_blue_is_a_queue_like_the_others() -> None:
    from cwndlab import Dumbbell, Flow, Link, Scenario
    from cwndlab.scenario.queues import Blue

    bottleneck = Link(rate="10 Mbps", delay="10 ms", queue=Blue(freeze_time="50 ms"))
    scenario = Scenario(dumbbell=Dumbbell(bottleneck), duration="2 s", flows=[Flow("reno", rtt="40 ms")])
    canonical = json.loads(scenario.canonical)
    assert canonical["dumbbell"]["bottleneck"]["queue"]["freeze_time_ns"] == 50_000_000
