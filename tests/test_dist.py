"""The wheel of ``make dist``, installed in an empty environment without Rust.

The installation takes a minute, so these tests run only where ``CWNDLAB_REQUIRE_WHEEL`` is set, as in ``.ci/run``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import cwndlab
import pytest

ROOT = Path(__file__).resolve().parents[1]
REQUIRED = "CWNDLAB_REQUIRE_WHEEL"

pytestmark = [
    pytest.mark.skipif(not os.environ.get(REQUIRED), reason=f"{REQUIRED} is not set"),
    pytest.mark.timeout(1200),  # several hundred megabytes are unpacked
]


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The only wheel in dist/."""
    (path,) = (ROOT / "dist").glob(f"cwndlab-{cwndlab.version()}-*.whl")
    return path


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel and what it requires, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    options = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    versions = ["--constraint", str(ROOT / "requirements" / "lock.txt")]
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", *options, *versions, str(wheel)]
    subprocess.run(install, check=True, env=environment(folder / "bin"))
    return folder / "bin"


def environment(programs: Path) -> dict[str, str]:
    """Variables of a user without Rust and without this repository."""
    path = f"{programs}:/usr/bin:/bin"
    assert shutil.which("cargo", path=path) is None
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CARGO", "RUST"))}
    return kept | {"PATH": path}


def call(programs: Path, name: str, *arguments: object, where: Path) -> subprocess.CompletedProcess[str]:
    command = [str(programs / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=where, env=environment(programs), check=False)


def test_the_wheel_has_types_pages_scenarios_references_licences_and_components(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        size = {entry.filename: entry.file_size for entry in archive.infolist()}
        expected = {f"_scenarios/{path.name}": path for path in (ROOT / "scenarios").iterdir()}
        for kind in ("ns2", "ns3", "linux", "kernel"):
            files = (ROOT / "known-answers" / kind).iterdir()
            expected |= {f"_known_answers/{kind}/{path.name}": path for path in files}
        for name, path in expected.items():
            assert archive.read(f"cwndlab/{name}") == path.read_bytes()
    package = {name.removeprefix("cwndlab/") for name in names if name.startswith("cwndlab/")}
    assert {"_engine.abi3.so", "_engine.pyi", "py.typed", "reports/templates/page.js"} <= package
    assert {name for name in package if name.startswith(("_scenarios/", "_known_answers/"))} == set(expected)
    metadata = f"cwndlab-{cwndlab.version()}.dist-info"
    assert {f"{metadata}/licenses/LICENSE-MIT", f"{metadata}/licenses/LICENSE-APACHE"} <= names
    assert [name for name in names if name.startswith(f"{metadata}/sboms/") and name.endswith(".cyclonedx.json")]
    # With symbols it has more than 80 MB.
    assert size["cwndlab/_engine.abi3.so"] < 30_000_000


def test_components_are_listed_in_a_known_form(wheel: Path) -> None:
    """CycloneDX: https://cyclonedx.org/docs/1.6/json/. The crates pinned in Cargo.toml must be there."""
    base = wheel.name.partition("-cp")[0]
    crates, libraries = (
        json.loads((wheel.parent / f"{base}.{kind}.cdx.json").read_text()) for kind in ("rust", "python")
    )
    assert {crates["bomFormat"], libraries["bomFormat"]} == {"CycloneDX"}
    pinned = {(one["name"], one["version"]) for one in crates["components"]}
    assert {("libm", "0.2.16"), ("rand_xoshiro", "0.7.0")} <= pinned
    names = {one["name"] for one in libraries["components"]}
    assert {"numpy", "polars", "scipy", "optuna", "matplotlib", "distributed"} <= names
    assert names & {"pytest", "ruff", "maturin"} == set()


def test_the_demo_runs_without_the_repository(installed: Path, tmp_path: Path) -> None:
    done = call(installed, "cwndlab", "demo", "--quick", where=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("comparison: cwndlab-demo\nreport: cwndlab-demo.html\n")
    assert (tmp_path / "cwndlab-demo.html").stat().st_size > 100_000


def test_installed_runs_have_the_known_hashes(installed: Path, tmp_path: Path) -> None:
    """The bundled scenarios; hashes of known-answers/record-hashes.json."""
    known = json.loads((ROOT / "known-answers" / "record-hashes.json").read_text())
    code = (
        "import json, sys\n"
        "from cwndlab import run\n"
        "from cwndlab.scenario.presets import load\n"
        "known = json.loads(sys.argv[1])\n"
        "hashes = {name: run(load(name).with_(duration=one['duration']), seed=one['seed']).hash()"
        " for name, one in known.items()}\n"
        "json.dump(hashes, sys.stdout)\n"
    )
    done = call(installed, "python", "-c", code, json.dumps(known), where=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {name: one["hash"] for name, one in known.items()}


def test_bundled_references_are_found(installed: Path, tmp_path: Path) -> None:
    code = (
        "from cwndlab.validation.references import reference\n"
        "print(*(path.name for path in reference.bundled()), reference.kernel_paths().name)\n"
    )
    done = call(installed, "python", "-c", code, where=tmp_path)
    assert (done.stdout, done.stderr) == ("ns2 linux ns3 paths.toml\n", "")


@pytest.mark.parametrize(
    ("library", "extra", "arguments"),
    [
        ("dask", "cluster", ["sweep", ROOT / "examples" / "sweep.toml", "--cluster", "local:1", "--out", "out"]),
        ("matplotlib", "print", ["report", "run", "--figures", "svg"]),
        ("optuna", "tune", ["tune", ROOT / "examples" / "tune-ccm-ss.toml", "--out", "out"]),
    ],
)
def test_a_missing_library_names_its_extra(
    installed: Path, tmp_path: Path, library: str, extra: str, arguments: list[object]
) -> None:
    run = call(installed, "cwndlab", "run", "single", "--set", "duration=1 s", "--out", "run", where=tmp_path)
    assert run.returncode == 0, run.stderr
    done = call(installed, "cwndlab", *arguments, where=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith(f"{library}: is not installed\n  hint: pip install 'cwndlab[{extra}]'\n")
