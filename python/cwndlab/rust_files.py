"""Algorithms in Rust files: compiled by cargo, loaded by the engine, and passed on as classes.

The file is that of an algorithm in the tree (``docs/add-an-algorithm.md``): it has ``pub static SPEC: Spec`` of a whole
algorithm. Cargo compiles it against the contract, the crate ``cwndlab-control``, whose sources this package has, and
offline where it can. A library is kept by the text of the file, the sources and the compiler, in
``$XDG_CACHE_HOME/cwndlab``.
"""

from __future__ import annotations

import hashlib
import inspect
import keyword
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path as File
from typing import Any, ClassVar

from cwndlab import engine
from cwndlab.errors import Fault, ScenarioError, text_of

__all__ = ["RustAlgorithm", "is_rust", "load"]

#: The crates that an algorithm is compiled with.
CRATES = ("units", "control", "plugin")
#: Needs that a class cannot have: they set the flow's ECN, or the sending of its segments, or the path's routers.
_REFUSED = {
    "spacing": "segments sent separately (`Need::Spacing`)",
    "ecn": "ECN (`Need::Ecn`)",
    "l4s": "L4S (`Need::L4s`)",
    "agent": "an agent in the routers (`Need::Agent`)",
}
_PAGE = "docs/add-an-algorithm.md, 'A file in Rust', shows one"


class RustAlgorithm:
    """The algorithm of a Rust file as a class: its objects are algorithms of flows, which the engine calls itself."""

    #: The Rust file, and the SHA-256 of its text in hex.
    source_file: ClassVar[str]
    source_sha256: ClassVar[str]
    #: It has a model of the path.
    model_based: ClassVar[bool]
    #: The least and the largest value of each parameter with a number.
    ranges: ClassVar[Mapping[str, tuple[float, float]]]
    _library: ClassVar[engine.RustLibrary]
    _switches: ClassVar[frozenset[str]]

    def __new__(cls, path: engine.Path, **given: float | bool) -> Any:
        values = (
            f"{name}={'on' if value else 'off'}" if name in cls._switches else f"{name}={float(value)!r}"
            for name, value in given.items()
        )
        return cls._library.create(path, f"{cls.__name__}({','.join(values)})" if given else cls.__name__)

    def on_ack(self, ack: engine.Ack, /) -> None:
        """The engine calls the library."""

    def on_congestion(self, event: engine.Congestion, /) -> None:
        """The engine calls the library."""

    def cwnd(self) -> float:
        """The engine calls the library."""
        raise NotImplementedError


def is_rust(file: File) -> bool:
    """Whether a file has an algorithm in Rust.

    >>> is_rust(File("mine.rs")), is_rust(File("mine.py"))
    (True, False)
    """
    return file.suffix == ".rs"


def load(file: File) -> dict[str, type]:
    """The algorithm of a Rust file, by its name.

    Raises
    ------
    ScenarioError
        There is no such file or no Rust, the file does not compile, or its entry is not that of a whole algorithm, has
        needs that a class cannot have, or a parameter whose name a constructor in Python cannot take.
    """
    text = text_of(file, "name a Rust file with an algorithm in it")
    try:
        library = engine.RustLibrary(str(compiled(file, text)))
    except ImportError as error:
        raise ScenarioError(Fault(str(file), f"cannot be loaded: {error}", _PAGE)) from None
    if not library.whole:
        what = f"'{library.name}' is a part of an algorithm, and only a whole one can be loaded"
        raise ScenarioError(Fault(str(file), what, "write a `CongestionControl` with `Kind::Whole` and `Build::Whole`"))
    needs = [_REFUSED[need] for need in library.needs if need in _REFUSED]
    if needs:
        what = f"'{library.name}' needs {', '.join(needs)}, which only an entry of the tree can"
        hint = "put the file into the tree (docs/add-an-algorithm.md, section 2), or leave the need out of its entry"
        raise ScenarioError(Fault(str(file), what, hint))
    defaults: dict[str, float | bool] = {}
    ranges: dict[str, tuple[float, float]] = {}
    for name, number, word in library.parameters:
        if not name.isidentifier() or keyword.iskeyword(name) or name in ("cls", "path", "self"):
            what = f"'{name}' cannot be the name of a parameter: constructors in Python do not take it"
            raise ScenarioError(Fault(str(file), what, f"rename it, such as '{re.sub('[^a-z0-9]+', '_', name)}_value'"))
        if number is not None:
            defaults[name], *bounds = number
            ranges[name] = (bounds[0], bounds[1])
        elif word in ("on", "off"):
            defaults[name] = word == "on"
    body: dict[str, Any] = {
        "__doc__": f"The algorithm of {file}.",
        "__signature__": _signature(defaults),
        "source_file": str(file),
        "source_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "model_based": library.model_based,
        "ranges": ranges,
        "_library": library,
        "_switches": frozenset(name for name, default in defaults.items() if isinstance(default, bool)),
    }
    return {library.name: type(library.name, (RustAlgorithm,), body)}


def _signature(defaults: Mapping[str, float | bool]) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named = [inspect.Parameter(name, kind, default=default) for name, default in defaults.items()]
    return inspect.Signature([inspect.Parameter("path", kind), *named])


def compiled(file: File, text: str) -> File:
    """The library of a Rust file with this text, compiled where it is not kept from before.

    Raises
    ------
    ScenarioError
        There is no Rust, or the file does not compile: with the messages of the compiler.
    """
    cargo = shutil.which("cargo")
    if cargo is None:
        hint = "install it (https://rustup.rs), or write a class in Python"
        raise ScenarioError(Fault(str(file), "needs Rust to be compiled, and there is no `cargo`", hint))
    compiler = _output([cargo, "--version", "--verbose"])
    folder = _workspace(hashlib.sha256((compiler + _digest()).encode()).hexdigest()[:16])
    stem = re.sub(r"\W", "_", file.stem)
    name = f"{stem}_{hashlib.sha256(text.encode()).hexdigest()[:16]}".lower()
    name = name if name[0].isalpha() else f"a{name}"
    pattern = {"win32": "{}.dll", "darwin": "lib{}.dylib"}.get(sys.platform, "lib{}.so")
    library = folder / "target" / "release" / pattern.format(name)
    if library.is_file():
        return library
    crate = folder / name
    (crate / "src").mkdir(parents=True, exist_ok=True)
    manifest = (_sources() / "plugin" / "manifests" / "algorithm.toml").read_text(encoding="utf-8")
    (crate / "Cargo.toml").write_text(manifest.replace("NAME", name), encoding="utf-8")
    (crate / "src" / "algorithm.rs").write_text(text, encoding="utf-8")
    wrapper = "mod algorithm;\n\ncwndlab_plugin::export!(algorithm::SPEC);\n"
    (crate / "src" / "lib.rs").write_text(wrapper, encoding="utf-8")
    environment = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target"), "CARGO_TERM_COLOR": "never"}
    environment.pop("CARGO_BUILD_TARGET", None)  # for a target, the library would be in another folder
    arguments = [cargo, "build", "--release", "--quiet", "--manifest-path", str(crate / "Cargo.toml")]
    # A library that aborts at a panic would end the process, whatever the user's configuration of cargo says.
    arguments += ["--config", 'profile.release.panic="unwind"']
    done = subprocess.run([*arguments, "--offline"], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0 and "--offline" in done.stderr:  # cargo proposes to retry without it
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        messages = done.stderr.replace("src/algorithm.rs", str(file)).strip()
        raise ScenarioError(Fault(str(file), f"does not compile:\n{messages}", _PAGE))
    if not library.is_file():
        hint = "does a configuration of cargo (`build.target`) change the folder or the kind of its libraries?"
        raise ScenarioError(Fault(str(file), f"was compiled, but there is no library {library}", hint))
    return library


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        hint = f"`{' '.join(command)}` shows why"
        raise ScenarioError(Fault(command[0], f"does not run: {error}", hint)) from None


def _sources() -> File:
    """The folder of the crates: that of the repository, or that of the package."""
    here = File(__file__).resolve()
    for place in (here.parents[2] / "crates", here.parent / "_crates"):
        if all((place / crate / "src").is_dir() for crate in CRATES):
            return place
    raise ScenarioError(Fault("crates", "the sources of the contract are not installed", "reinstall cwndlab"))


@cache
def _digest() -> str:
    """The digest of the crates and their manifests."""
    folder = _sources()
    digest = hashlib.sha256()
    for file in sorted(
        [*folder.glob("plugin/manifests/*"), *(one for crate in CRATES for one in folder.glob(f"{crate}/src/*.rs"))]
    ):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _workspace(key: str) -> File:
    """The folder with the crates for this key, written where it is missing."""
    base = File(os.environ.get("XDG_CACHE_HOME") or File.home() / ".cache") / "cwndlab"
    folder = base / f"rust-{key}"
    if folder.is_dir():
        return folder
    try:
        base.mkdir(parents=True, exist_ok=True)
        made = File(tempfile.mkdtemp(prefix="rust-", dir=base))
        for crate in CRATES:
            shutil.copytree(_sources() / crate / "src", made / crate / "src")
            shutil.copy(_sources() / "plugin" / "manifests" / f"{crate}.toml", made / crate / "Cargo.toml")
        try:
            made.rename(folder)
        except OSError:
            shutil.rmtree(made)  # another process was faster
    except OSError as error:
        what = f"cannot be written ({error.strerror})"
        raise ScenarioError(Fault(str(base), what, "set XDG_CACHE_HOME to a folder of yours")) from None
    return folder


def __dir__() -> list[str]:
    return __all__
