"""Algorithms in Rust files: compiled, loaded, equal to the same equations elsewhere; every way in which they fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path

import cwndlab
import pytest
from cwndlab import Scenario, ScenarioError, Sweep, engine
from cwndlab.custom import load
from cwndlab.errors import AlgorithmError
from cwndlab.study.tuning import Tuning

Cli = Callable[..., tuple[int, str, str]]

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "own_algorithm.rs"

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    """One cache for the module: the contract is compiled once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def scenario(algorithm: str, classes: dict[str, type], **changes: str) -> cwndlab.Scenario:
    """A path of 12 Mbit/s with a tenth of a percent of random losses and a shallow queue."""
    bottleneck = cwndlab.Link(
        rate="12 Mbit/s",
        delay="10 ms",
        queue=cwndlab.DropTail("1 bdp"),
        loss=[cwndlab.scenario.losses.Bernoulli(p=0.001)],
    )
    flows = [cwndlab.Flow(algorithm, rtt="40 ms"), cwndlab.Flow("cubic", rtt="40 ms")]
    duration = changes.pop("duration", "10 s")
    return cwndlab.Scenario(
        duration=duration, dumbbell=cwndlab.Dumbbell(bottleneck), flows=flows, algorithms=classes or None
    )


def with_line(folder: Path, before: str, line: str) -> Path:
    """The example with a line before another one."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert before in text
    file = folder / "mine.rs"
    file.write_text(text.replace(before, f"{line}\n        {before}", 1), encoding="utf-8")
    return file


@needs_cargo
@pytest.mark.timeout(600)
def test_the_same_equations_in_rust_and_in_python_give_the_same_run() -> None:
    """`own_algorithm.rs` and `own_algorithm.py` are one algorithm in two languages."""
    of_rust, of_python = load(EXAMPLE), load(ROOT / "examples" / "own_algorithm.py")
    assert list(of_rust) == list(of_python) == ["delay-aimd"]
    for text in ("delay-aimd", "delay-aimd(g=3)"):
        rust, python = (cwndlab.run(scenario(text, classes), seed=1) for classes in (of_rust, of_python))
        assert rust.flows["delivered_bytes"].to_list() == python.flows["delivered_bytes"].to_list()
        assert rust.samples["cwnd_bytes"].to_list() == python.samples["cwnd_bytes"].to_list()
        assert rust.samples["cwnd_bytes"].n_unique() > 20


@needs_cargo
@pytest.mark.timeout(600)
@pytest.mark.parametrize("recovery", ["", "/sack"])
def test_an_algorithm_of_the_tree_behind_the_boundary_gives_the_same_run(tmp_path: Path, recovery: str) -> None:
    """C4 has a model of the path, a pacing rate, events and ECN: all of the contract but feedback of routers."""
    folder = ROOT / "crates" / "algorithms" / "src"
    text = (folder / "whole" / "c4.rs").read_text(encoding="utf-8").replace('name: "c4"', 'name: "c4-mine"')
    margin = (folder / "shared" / "margin.rs").read_text(encoding="utf-8")
    inner = "\n".join(line for line in margin.splitlines() if not line.startswith("//!"))
    text = text.replace("use crate::shared::margin::", "use margin::") + f"\nmod margin {{\n{inner}\n}}\n"
    file = tmp_path / "c4_mine.rs"
    file.write_text(text, encoding="utf-8")
    classes = load(file)
    mine = cwndlab.run(scenario(f"c4-mine{recovery}", classes), seed=1)
    built_in = cwndlab.run(scenario(f"c4{recovery}", {}), seed=1)
    assert mine.flows["delivered_bytes"].to_list() == built_in.flows["delivered_bytes"].to_list()
    assert mine.samples["cwnd_bytes"].to_list() == built_in.samples["cwnd_bytes"].to_list()
    assert mine.rows("events") == built_in.rows("events")
    assert len(mine.rows("events")) > 0


@needs_cargo
@pytest.mark.timeout(600)
def test_records_have_the_hash_of_the_file() -> None:
    records = cwndlab.run(scenario("delay-aimd", load(EXAMPLE), duration="2 s"), seed=1)
    described = records.scenario.document["algorithms"]["delay-aimd"]
    assert described["sha256"] == sha256(EXAMPLE.read_bytes()).hexdigest()
    assert described["file"].endswith("own_algorithm.rs")
    note = f"'delay-aimd' is the file own_algorithm.rs (SHA-256 {described['sha256'][:12]}…)"
    assert note in " ".join(map(str, records.notes))


@needs_cargo
@pytest.mark.timeout(600)
def test_commands_take_a_rust_file_as_one_in_python(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "path.toml"
    scenario("reno", {}, duration="2 s").save(path)
    mine = ("--algorithm-file", str(EXAMPLE))
    status, _, errors = cli("run", str(path), "--seed", "1", *mine, "--set", "flow[0].algorithm=delay-aimd(g=2)")
    assert status == 0
    assert "note: 'delay-aimd' is the file own_algorithm.rs (SHA-256 " in errors
    compared = ("--algorithms", f"reno,{EXAMPLE}", "--repetitions", "2", "--seed", "1")
    status, out, _ = cli("compare", str(path), *compared)
    assert status == 0
    assert "delay-aimd" in out
    status, out, errors = cli("check", str(EXAMPLE), "--quick")
    assert (status, errors) == (0, ""), out


@needs_cargo
@pytest.mark.timeout(600)
def test_a_library_is_kept_by_the_text_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cargo that only states its version suffices for a file that was compiled before."""
    load(EXAMPLE)
    version = subprocess.run(["cargo", "--version", "--verbose"], capture_output=True, text=True, check=True).stdout
    stub = tmp_path / "cargo"
    stub.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] || exit 9\ncat <<'END'\n{version}END\n", encoding="utf-8")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert list(load(EXAMPLE)) == ["delay-aimd"]
    copy = tmp_path / "other.rs"
    copy.write_text(EXAMPLE.read_text(encoding="utf-8") + "// changed\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="does not compile"):
        load(copy)


@needs_cargo
@pytest.mark.timeout(600)
def test_messages_of_the_compiler_name_the_file_and_the_line(cli: Cli, tmp_path: Path) -> None:
    file = with_line(tmp_path, "None\n    }", "self.missing += 1;")
    line = file.read_text(encoding="utf-8").splitlines().index("        self.missing += 1;") + 1
    status, out, errors = cli("run", "two-flows", "--seed", "1", "--algorithm-file", str(file))
    assert (status, out) == (2, "")
    assert f"{file}: does not compile" in errors
    assert "no field `missing` on type `&mut DelayAimd`" in errors
    assert f"{file}:{line}:" in errors


@needs_cargo
@pytest.mark.timeout(600)
def test_a_panic_ends_the_run_with_its_line_and_time(tmp_path: Path) -> None:
    file = with_line(tmp_path, "let n = ack.acked", 'assert!(ack.now.as_secs() < 0.5, "too late");')
    line = (
        file.read_text(encoding="utf-8").splitlines().index('        assert!(ack.now.as_secs() < 0.5, "too late");') + 1
    )
    with pytest.raises(AlgorithmError) as raised:
        cwndlab.run(scenario("delay-aimd", load(file)), seed=3)
    pattern = rf"delay-aimd: on_ack panicked at .*:{line}:\d+: too late, at 0\.5\d* s of the run with seed 3"
    assert re.fullmatch(pattern, str(raised.value))


@needs_cargo
@pytest.mark.timeout(600)
def test_an_empty_window_ends_the_run(tmp_path: Path) -> None:
    file = with_line(tmp_path, "let n = ack.acked", "self.mss = 0.0;")
    with pytest.raises(AlgorithmError, match=r"delay-aimd: cwnd\(\) is 0 B after on_ack"):
        cwndlab.run(scenario("delay-aimd", load(file)), seed=3)


@needs_cargo
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("window", "bytes_of_it"),
    # docs/conformance.md: a window must be above 0 and at most 10^9 segments, here of 1448 B.
    [("0.0", "0"), ("2e9", "2896000000000")],
)
def test_a_constructor_with_an_invalid_window_ends_the_run(tmp_path: Path, window: str, bytes_of_it: str) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    changed = re.sub(r"Bytes\(\(.*\) as u64\)", f"Bytes(({window} * self.mss) as u64)", text)
    assert changed != text
    file = tmp_path / "mine.rs"
    file.write_text(changed, encoding="utf-8")
    with pytest.raises(AlgorithmError, match=rf"cwnd\(\) is {bytes_of_it} B after the constructor, at 0\.0+ s"):
        cwndlab.run(scenario("delay-aimd", load(file)), seed=3)


@needs_cargo
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("needs", "refused"),
    [
        ("Need::Pacing, Need::EveryAck", None),
        ("Need::Pacing, Need::Spacing", r"needs segments sent separately \(`Need::Spacing`\), which"),
        ("Need::Ecn, Need::L4s", r"needs ECN \(`Need::Ecn`\), L4S \(`Need::L4s`\), which"),
        ('Need::Agent("rcp")', r"needs an agent in the routers \(`Need::Agent`\), which"),
    ],
)
def test_needs_that_a_class_cannot_have_are_refused(tmp_path: Path, needs: str, refused: str | None) -> None:
    """Without them copa and prague would run otherwise than in the tree."""
    file = tmp_path / "mine.rs"
    text = EXAMPLE.read_text(encoding="utf-8").replace("needs: &[]", f"needs: &[{needs}]")
    file.write_text(text.replace("Need::", "cwndlab_control::Need::"), encoding="utf-8")
    if refused is None:
        assert list(load(file)) == ["delay-aimd"]
        return
    with pytest.raises(ScenarioError, match=refused):
        load(file)


@needs_cargo
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["lambda", "path", "cls", "self"])
def test_a_parameter_that_python_cannot_name_is_refused(tmp_path: Path, name: str) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    file = tmp_path / "mine.rs"
    parameters = re.sub(
        "parameters: Options::PARAMETERS",
        'parameters: &[cwndlab_control::Parameter { name: "NAME", ..Options::PARAMETERS[0] }]',
        text,
    )
    assert parameters != text
    file.write_text(parameters.replace("NAME", name), encoding="utf-8")
    with pytest.raises(ScenarioError, match=rf"'{name}' cannot be the name of a parameter(.|\n)*'{name}_value'"):
        load(file)


@needs_cargo
@pytest.mark.timeout(600)
def test_the_kernel_refuses_a_rust_file(cli: Cli, tmp_path: Path) -> None:
    """Its module is another extension, whose types are not those of the engine."""
    refused = "algorithm 'delay-aimd': is the algorithm of a Rust file, which the kernel's datapath does not run"
    status, out, errors = cli("kernel", "run", "--algorithm", str(EXAMPLE), "--for", "1s")
    assert (status, out) == (2, "")
    assert refused in errors
    path = tmp_path / "path.toml"
    scenario("reno", {}, duration="2 s").save(path)
    chosen = ("--algorithm-file", str(EXAMPLE), "--set", "flow[0].algorithm=delay-aimd")
    status, out, errors = cli("run", str(path), "--engine", "emulate", "--datapath", "cwndlab", "--seed", "1", *chosen)
    assert (status, out) == (2, "")
    assert refused in errors


@needs_cargo
@pytest.mark.timeout(600)
def test_the_configuration_of_cargo_changes_neither_panics_nor_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`panic = "abort"` would end the process, and for a target the library is in another folder."""
    version = subprocess.run(["rustc", "--version", "--verbose"], capture_output=True, text=True, check=True).stdout
    host = next(line.removeprefix("host: ") for line in version.splitlines() if line.startswith("host: "))
    monkeypatch.setenv("CARGO_BUILD_TARGET", host)
    monkeypatch.setenv("CARGO_PROFILE_RELEASE_PANIC", "abort")
    file = with_line(tmp_path, "let n = ack.acked", 'assert!(ack.now.as_secs() < 0.4, "too late");')
    with pytest.raises(AlgorithmError, match="too late"):
        cwndlab.run(scenario("delay-aimd", load(file)), seed=3)


@needs_cargo
@pytest.mark.timeout(600)
def test_a_build_without_a_library_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = tmp_path / "cargo"
    stub.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(ScenarioError, match=r"was compiled, but there is no library .*own_algorithm_"):
        load(EXAMPLE)


@needs_cargo
@pytest.mark.timeout(600)
def test_a_parameter_out_of_its_range_is_told_before_the_run() -> None:
    """The range of the example's entry is 1 to 10."""
    classes = load(EXAMPLE)
    with pytest.raises(ScenarioError) as error:
        scenario("delay-aimd(g=20)", classes)
    assert str(error.value).splitlines() == [
        "flow[0].algorithm: delay-aimd: g = 20 is out of range",
        "  hint: g ranges from 1 to 10",
    ]
    again = Scenario.from_json(scenario("delay-aimd(g=10)", classes).to_json())
    with pytest.raises(ScenarioError, match="g = 11 is out of range"):
        again.with_({"flow[0].algorithm": "delay-aimd(g=11)"})


@needs_cargo
@pytest.mark.timeout(600)
def test_a_search_takes_the_range_of_the_file() -> None:
    """The range of the example's entry is 1 to 10."""
    side = Sweep(base=scenario("delay-aimd", load(EXAMPLE)), seeds=[1])
    asked = partial(Tuning, algorithm="delay-aimd", objective="goodput_bps", train=side, test=side)
    found = asked(parameters={"g": {}}).ranges["delay-aimd.g"]
    assert (found.low, found.high) == (1.0, 10.0)
    with pytest.raises(ScenarioError, match=r"1\.0 to 20 leaves 1 … 10"):
        asked(parameters={"g": {"high": 20}})


@needs_cargo
@pytest.mark.timeout(600)
def test_a_part_of_an_algorithm_is_refused() -> None:
    with pytest.raises(ScenarioError, match="'gentle' is a part of an algorithm, and only a whole one can be loaded"):
        load(ROOT / "examples" / "own-algorithm-rust" / "src" / "lib.rs")


@needs_cargo
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('pub extern "C" fn cwndlab_algorithm(_: u32, _: *const u8, _: *mut u8) -> u32 { 0 }', "another version"),
        ('pub extern "C" fn something_else() {}', "cwndlab_algorithm"),
    ],
)
def test_a_library_of_another_interface_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """A library returns its version only where the sizes of all values are its own."""
    source, library = tmp_path / "other.rs", tmp_path / "libother.so"
    source.write_text(f"#[no_mangle]\n{text}\n", encoding="utf-8")
    subprocess.run(["rustc", "--crate-type", "cdylib", "-o", str(library), str(source)], check=True)
    with pytest.raises(ImportError, match=message):
        engine.RustLibrary(str(library))


def test_without_rust_the_error_says_what_would_do(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    status, out, errors = cli("run", "two-flows", "--seed", "1", "--algorithm-file", str(EXAMPLE))
    assert (status, out) == (2, "")
    assert errors == (
        f"{EXAMPLE}: needs Rust to be compiled, and there is no `cargo`\n"
        "  hint: install it (https://rustup.rs), or write a class in Python\n"
    )


def test_a_missing_rust_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"mine\.rs: there is no such file"):
        load(tmp_path / "mine.rs")


def test_the_versions_of_dependencies_are_those_of_the_workspace() -> None:
    """A run has the same bits everywhere only with one libm."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    manifests = {
        file.stem: tomllib.loads(file.read_text(encoding="utf-8"))
        for file in (ROOT / "crates" / "plugin" / "manifests").glob("*.toml")
    }
    assert sorted(manifests) == ["algorithm", "control", "plugin", "units"]
    assert manifests["units"]["dependencies"] == {"libm": workspace["dependencies"]["libm"]}
    assert {one["package"]["edition"] for one in manifests.values()} == {workspace["package"]["edition"]}
