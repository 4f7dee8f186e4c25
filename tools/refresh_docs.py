"""Refreshes the blocks between `<!-- output: … -->` and `<!-- end -->` in README.md and docs/: runs what they name.

`python tools/refresh_docs.py [WORD …]` refreshes only blocks of whose name the word is a part (`bench`, `records`) or
whose file has it as a name (`README`, `validity`). `make docs` refreshes all but what has to be named: `bench-peers`,
which needs ns-2 and ns-3 and takes minutes, and `applications`, which needs the rights of an emulation.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import records_doc

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
FILES = (
    "docs/records.md",
    "docs/python.md",
    "docs/statistics.md",
    "README.md",
    "docs/validity.md",
    "docs/applications.md",
    "docs/matrix.md",
    "docs/performance.md",
    "docs/reproductions.md",
    "docs/sweeps.md",
    "docs/tuning.md",
    "docs/kernel.md",
    "docs/emulation.md",
    "docs/serve.md",
)
BLOCK = re.compile(r"(<!-- output: (?P<name>[^>]*?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)


def _text(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip("\n")


def _limits() -> str:
    from cwndlab.run import serve_limits

    rows = ((f"`{name}`", "–" if usual is None else f"{usual:,g}", doc) for name, usual, _, doc in serve_limits())
    return "\n".join(["| limit | default | of |", "|---|---:|---|", *(f"| {' | '.join(row)} |" for row in rows)])


def _machine() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else '?'}, {len(models)} cores, shared"


def _validity() -> str:
    from cwndlab.validate import markdown, validate

    rows, notes = validate()
    return markdown(rows, notes)


def _kernel() -> str:
    """The bundled campaign, judged with the simulator as it is; what is missing of it is run on this kernel."""
    from cwndlab.validate_kernel import campaign, markdown

    return markdown(*campaign(ROOT / "known-answers" / "kernel"))


def _applications() -> str:
    table = _text(sys.executable, "examples/applications/run.py")
    kernel = _text("uname", "-r")
    return f"{_machine()}, Linux {kernel}, `python examples/applications/run.py`:\n\n```\n{table}\n```"


def _profile() -> str:
    out = ROOT / "build" / "callgrind.out"
    out.parent.mkdir(exist_ok=True)
    program = str(BIN / "cwndlab-bench")
    _text("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, "run", "scenarios/s1.toml")
    listing = _text("callgrind_annotate", "--threshold=100", str(out))
    counts: dict[str, int] = {}
    total = 0
    for line in listing.splitlines():
        found = re.match(r"\s*([\d,]+) \([^)]*\)\s+(\S+?):", line)
        if not found:
            continue
        count = int(found[1].replace(",", ""))
        total += count
        place = re.sub(r".*/library/.*", "the standard library (inlined: slices, vectors, options)", found[2])
        place = re.sub(r"^.*?(crates/[a-z]+)/.*?([a-z_]+)\.rs$", r"\1: \2", place)
        counts[place] = counts.get(place, 0) + count
    rows = sorted(counts.items(), key=lambda item: -item[1])[:14]
    lines = ["| where | share of instructions |", "|---|---:|"]
    return "\n".join([*lines, *(f"| {name} | {count / total:.1%} |" for name, count in rows)])


def _shown(*arguments: str) -> str:
    """What the command line prints; where it keeps its runs is not told."""
    told = " ".join(arguments[: arguments.index("--out")])
    return f"`cwndlab {told}`:\n\n```\n{_text(str(BIN / 'cwndlab'), *arguments)}\n```"


def _reproductions() -> str:
    """Every experiment in quick size. Runs of an earlier call are kept."""
    from cwndlab.reproduce.summary import markdown

    folder = ROOT / "build" / "reproductions"
    _text(str(BIN / "cwndlab"), "reproduce", "--all", "--quick", "--out", str(folder))
    return f"{_machine()}\n\n{markdown(folder)}"


def _first_paragraph(thing: object) -> str:
    return " ".join(inspect.getdoc(thing).split("\n\n")[0].split()) if inspect.getdoc(thing) else ""


def _arguments(function: Callable[..., object]) -> str:
    """What is called, without types, which the stubs have."""
    signature = inspect.signature(function)
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def _row(name: str, thing: object) -> str:
    called = _arguments(thing) if inspect.isfunction(thing) else ""
    return f"| `{name}`{f' `{called}`' if called else ''} | {_first_paragraph(thing).replace('|', chr(92) + '|')} |"


def _names(module: ModuleType) -> str:
    names: list[str] = module.__all__
    lines = ["| name | is |", "|---|---|"]
    return "\n".join([*lines, *(_row(name, getattr(module, name)) for name in names if not name.isupper())])


def _public() -> str:
    import cwndlab

    return _names(cwndlab)


def _metrics() -> str:
    from cwndlab import metrics

    return _names(metrics)


def _list_of_metrics() -> str:
    from cwndlab.metrics import listing

    lines = ["| name | is | unit | wanted |", "|---|---|---|---|"]
    return "\n".join(
        [*lines, *("| " + " | ".join(str(cell or "–") for cell in row.values()) + " |" for row in listing())]
    )


def _coverage() -> str:
    """The same rule for series of several spreads; each share has a standard deviation of about half a point."""
    from cwndlab.statistics import Until, coverage

    rule = Until("goodput_bps", 0.02, at_most=200)
    lines = ["| s / mean of single runs | repetitions, mean | intervals that hold the true mean |", "|---:|---:|---:|"]
    for spread in (0.01, 0.02, 0.03, 0.04, 0.05, 0.1):
        held, count = coverage(spread, rule, runs=2000, seed=1)
        lines.append(f"| {spread:.0%} | {count:.1f} | {held:.1%} |")
    return "\n".join(lines)


MAKERS: dict[str, Callable[[], str]] = {
    "validate": _validity,
    "validate --kernel": _kernel,
    "applications": _applications,
    "bench": lambda: f"{_machine()}\n\n{_text(sys.executable, 'benches/engine.py', 'engine')}",
    "bench algorithms": lambda: f"{_machine()}\n\n{_text(sys.executable, 'benches/engine.py', 'algorithms')}",
    "bench-peers": lambda: f"{_machine()}\n\n" + _text(sys.executable, "benches/peers.py").split("\n\n", 1)[1],
    "cache": lambda: _text(sys.executable, "benches/cache.py"),
    "overhead": lambda: (
        f"`cwndlab bench --overhead`:\n\n```\n{_text(str(BIN / 'cwndlab'), 'bench', '--overhead')}\n```"
    ),
    "bench python": lambda: (
        f"`cwndlab bench --python`:\n\n```\n{_text(str(BIN / 'cwndlab'), 'bench', '--python')}\n```"
    ),
    "bench serve": lambda: f"{_machine()}\n\n{_text(sys.executable, 'benches/serve.py')}",
    "limits": _limits,
    "bench emulator": lambda: f"{_machine()}\n\n{_text(sys.executable, 'benches/emulator.py')}",
    "bench sweep": lambda: f"{_machine()}\n\n{_text(sys.executable, 'benches/sweep.py')}",
    **{
        f"bench kernel {part}": partial(
            lambda part: f"{_machine()}\n\n{_text(sys.executable, 'benches/kernel.py', part)}", part
        )
        for part in ("latency", "cost", "beside")
    },
    "dry-run ccm-ss-grid": lambda: _shown("sweep", "examples/ccm-ss-grid.py", "--dry-run", "--out", "build/grid"),
    "tune ccm-ss": lambda: _shown("tune", "examples/tune-ccm-ss.toml", "--out", "build/tune-ccm-ss"),
    "tune iot": lambda: _shown("tune", "examples/tune-iot.toml", "--out", "build/tune-iot"),
    "profile": _profile,
    "reproduce --all --quick": _reproductions,
    "python": _public,
    "python metrics": _metrics,
    "metrics": _list_of_metrics,
    "coverage": _coverage,
    **{f"records {table}": partial(records_doc.markdown, table) for table in records_doc.TABLES},
}


#: What is refreshed only where it is asked for.
NAMED = ("bench-peers", "applications")


def body(name: str) -> str:
    """What stands between the marks."""
    if name in MAKERS:
        made = MAKERS[name]()
    else:
        command = name.split(" ")
        # The first table; what follows is in the report.
        first = _text(str(ROOT / command[0]), *command[1:]).split("\n\n")[0]
        made = textwrap.indent("\n".join([f"$ {name}", "", *first.splitlines()]), "    ")
    return "\n".join(line.rstrip() for line in f"\n{made.strip(chr(10))}\n\n".split("\n"))


def wanted(name: str, file: str, words: list[str]) -> bool:
    """Whether the block is asked for."""
    return any(word in (name, *name.split(), Path(file).stem) for word in words) if words else name not in NAMED


def main(words: list[str]) -> None:
    """Refreshes the blocks, one after another: a file is read again for each, since others may write it meanwhile."""
    for file in FILES:
        path = ROOT / file
        for name in [block["name"] for block in BLOCK.finditer(path.read_text(encoding="utf-8"))]:
            if not wanted(name, file, words):
                continue
            made = body(name)

            def put(block: re.Match[str], name: str = name, made: str = made) -> str:
                return f"{block[1]}{made}{block[4]}" if block["name"] == name else block[0]

            path.write_text(BLOCK.sub(put, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
