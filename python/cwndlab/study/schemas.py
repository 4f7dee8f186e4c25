"""JSON Schemas of the files that cwndlab reads: scenarios, sweeps, tunings.

An editor that reads JSON Schema completes and checks these files (``docs/schema/README.md``). A schema follows from the
declarations by which the files are read; rules between fields are checked by ``cwndlab check-scenario`` and by running.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from cwndlab.engine import scenario_schema
from cwndlab.scenario.declared import Entry, schema
from cwndlab.study.sweeps.files import ENTRIES as SWEEP
from cwndlab.study.tuning.spec import ENTRIES as TUNE

__all__ = ["KINDS", "of"]

#: The kinds of files that have a schema.
KINDS = ("scenario", "sweep", "compare", "tune")


def of(kind: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a kind of file.

    Parameters
    ----------
    kind
        ``"scenario"``, ``"sweep"``, ``"compare"`` or ``"tune"``.

    Returns
    -------
    dict
        The schema, as JSON has it.

    Raises
    ------
    KeyError
        There is no such kind.

    Examples
    --------
    >>> of("scenario")["properties"]["duration"]["description"]
    'simulated time'
    >>> sorted(of("sweep")["properties"]["sweep"]["properties"])[:2]
    ['algorithms', 'alternatives']
    """
    scenario: dict[str, Any] = json.loads(scenario_schema())
    if kind == "scenario":
        return scenario
    entries: dict[str, tuple[tuple[Entry, ...], str]] = {
        "sweep": (SWEEP, "A sweep: a scenario and the values of its fields."),
        "compare": (SWEEP, "A comparison: a scenario, and what varies."),
        "tune": (TUNE, "A tuning: an algorithm, its parameters, an objective, scenarios to train and to test on."),
    }
    if kind not in entries:
        raise KeyError(kind)
    declared, doc = entries[kind]
    made = copy.deepcopy(scenario)
    made["title"] = f"cwndlab {kind}"
    made["description"] = f"{doc} The scenario may be in the same file."
    made["properties"][kind] = schema(declared, doc)
    # The scenario's own fields are required only if this file contains them.
    made["dependentRequired"] = {"flow": scenario["required"]}
    made["required"] = [kind]
    return made
