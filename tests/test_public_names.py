"""The public Python interface: names that the documents mention exist, and completion offers nothing else."""

from __future__ import annotations

import json
import pkgutil
import re
import subprocess
import sys
from functools import reduce
from pathlib import Path
from types import ModuleType

import cwndlab
import pytest
from cwndlab.engine import declarations
from cwndlab.scenario.schema_tables import Table

ROOT = Path(__file__).parents[1]
#: Keys in the footer of a Parquet file (docs/records.md), which look like Python names.
FOOTER_KEYS = {f"cwndlab.{key}" for key in ("engine", "scenario_hash", "schema_version", "seed")}


def modules(package: ModuleType, prefix: str = "") -> dict[int, str]:
    """Names of the public modules of a package, and of those in them; one that has two names by the first."""
    found: dict[int, str] = {}
    for name in dir(package):
        module = getattr(package, name)
        if isinstance(module, ModuleType):
            found = {id(module): f"{prefix}{name}", **modules(module, f"{prefix}{name}."), **found}
    return found


MODULES = sorted(modules(cwndlab).values())


def in_a_fresh_interpreter(code: str) -> str:
    """What ``code`` prints in an interpreter that has imported nothing yet."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240).stdout


def documented() -> list[str]:
    """Every dotted name that README and docs/ mention."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = {name for page in pages for name in re.findall(r"\bcwndlab(?:\.[A-Za-z_]\w*)+", page.read_text("utf-8"))}
    return sorted(found - FOOTER_KEYS)


def test_every_documented_name_resolves_in_a_fresh_interpreter() -> None:
    """Each name by itself: what an earlier one imported must not help a later one."""
    names = documented()
    assert {"cwndlab.figures", "cwndlab.live.serve", "cwndlab.Sweep", "cwndlab.scenario.queues"} <= set(names)
    code = (
        "import importlib, json, sys\n"
        "missing = []\n"
        f"for name in {names!r}:\n"
        "    for module in [one for one in sys.modules if one.partition('.')[0] == 'cwndlab']:\n"
        "        del sys.modules[module]\n"
        "    thing = importlib.import_module('cwndlab')\n"
        "    try:\n"
        "        for part in name.split('.')[1:]:\n"
        "            thing = getattr(thing, part)\n"
        "    except AttributeError:\n"
        "        missing.append(name)\n"
        "print(json.dumps(missing))\n"
    )
    assert json.loads(in_a_fresh_interpreter(code)) == []


#: The modules of `cwndlab.scenario` with the classes of the choices that crates/ declares.
CHOICES = {
    "queue": "queues",
    "loss": "losses",
    "workload": "workloads",
    "size_distribution": "workloads",
    "time_distribution": "workloads",
    "agent": "routers",
}


def test_every_declared_kind_has_a_public_class() -> None:
    """The engine declares queues, loss models, workloads, distributions and router agents."""
    choices = json.loads(declarations())["choices"]
    assert choices.keys() == CHOICES.keys()
    for choice, module in CHOICES.items():
        home = getattr(cwndlab.scenario, module)
        classes = {cls.KIND: cls for cls in vars(home).values() if getattr(cls, "KIND", None) is not None}
        kinds = {kind: table["python"] for kind, table in choices[choice]["tables"].items()}
        assert {kind: classes[kind].__name__ for kind in kinds if kind in classes} == kinds
        assert set(kinds.values()) <= set(home.__all__)


def test_every_table_of_a_scenario_is_public() -> None:
    """A class without a public name could not be documented: in `cwndlab.scenario`, or in one of its public modules."""
    homes = [cwndlab.scenario, cwndlab.scenario.cells, cwndlab.scenario.media]
    homes += [getattr(cwndlab.scenario, name) for name in CHOICES.values()]
    public = {name for home in homes for name in home.__all__}
    waiting, tables = [Table], set()
    while waiting:
        for cls in waiting.pop().__subclasses__():
            waiting.append(cls)
            tables.add(cls.__name__)
    assert {name for name in tables if not name.startswith("_")} <= public


def test_importing_the_package_takes_less_than_a_tenth_of_a_second() -> None:
    """Processor time, so that a loaded machine gives the same answer; the least of five."""
    code = "import time\nbefore = time.process_time()\nimport cwndlab\nprint(time.process_time() - before)"
    assert min(float(in_a_fresh_interpreter(code)) for _ in range(5)) < 0.1


def test_no_public_name_is_that_of_a_module() -> None:
    """The import of a module would otherwise replace a function of its name."""
    modules = {module.name for module in pkgutil.iter_modules(cwndlab.__path__)}
    values = {name for name in cwndlab.__all__ if not isinstance(getattr(cwndlab, name), ModuleType)}
    assert values & modules == set()


def test_completion_offers_public_names_only() -> None:
    assert {"Any", "sys", "TYPE_CHECKING", "annotations"} & set(dir(cwndlab)) == set()
    assert set(cwndlab.__all__) <= set(dir(cwndlab))
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    assert [name for name in MODULES if f"| `cwndlab.{name}` |" not in page] == []


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_lists_its_names(name: str) -> None:
    module = reduce(getattr, name.split("."), cwndlab)
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, one) for one in module.__all__)


def test_importing_the_package_imports_only_errors_and_lazy_imports() -> None:
    """Neither the engine nor what draws: the first use of a name does. ``lazy`` arranges that."""
    code = "import sys, cwndlab\nprint([name for name in sys.modules if name.startswith('cwndlab.')])"
    assert in_a_fresh_interpreter(code) == "['cwndlab.errors', 'cwndlab.lazy']\n"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'cwndlab' has no attribute 'simulation'"):
        cwndlab.simulation  # type: ignore[attr-defined] # noqa: B018
