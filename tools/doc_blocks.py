"""What the generated blocks of README.md and docs/ have between their markers, by the names of the blocks."""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import bbr_questions
import confirmations
import declared_files
import generated
import hosted_faults
import pictures
import records_doc
import rust_contract
import seeded_faults
import service_levels
from cwndlab.catalogue import algorithms

ROOT = generated.ROOT
BIN = Path(sys.executable).parent
#: The tables of tools/interop/table.py, from the kept result.
INTEROP = ("cases", "causes", "timeouts", "service")
#: The comparisons of docs/bbr-questions.md: axis, picture, and metrics of the tables.
BBR = {
    "probe-rtt": (
        "interval",
        "Change of BBR's share beside CUBIC with a ProbeRTT interval of 10 s, in nine settings",
        ["share@flow0", "queue_ms"],
    ),
    "late-flow": (
        "interval",
        "Change of the Jain index of two BBR flows with a ProbeRTT interval of 10 s, in nine settings",
        ["jain", "queue_ms", "goodput_bps"],
    ),
    "drain-limit": (
        "drain",
        "Change of the queue without a limit of Drain, and with Down in its place, in six settings",
        ["queue_ms", "p95_queue_ms", "loss_ratio"],
    ),
    "drain-gain": (
        "gain",
        "Change of the queue with a drain gain of 0.35, in twelve settings",
        ["queue_ms", "goodput_bps@flow0"],
    ),
    "ack-phase": (
        "filter",
        "Change of BBR's share where the filter of the bandwidth advances as Down begins, in twelve settings",
        ["share@flow0", "queue_ms"],
    ),
    "ecn": (
        "response",
        "Change of the queue of two BBR flows with the response to ECN, and with DCTCP, for four RTTs",
        ["queue_ms", "p95_queue_ms", "goodput_bps"],
    ),
}


def _text(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip("\n")


def _limits() -> str:
    from cwndlab.engine import serve_limits

    rows = ((f"`{name}`", "–" if default is None else f"{default:,g}", doc) for name, default, _, doc in serve_limits())
    return "\n".join(["| limit | default | meaning |", "|---|---:|---|", *(f"| {' | '.join(row)} |" for row in rows)])


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else '?'}, {len(models)} cores, shared"


def _validity() -> str:
    from cwndlab.validation.peers import markdown, validate

    rows, notes = validate()
    return markdown(rows, notes)


def _kernel() -> str:
    """The bundled campaign on the paths that the kernel has run, compared with the current simulator."""
    from cwndlab.validation.kernel import campaign, kept, markdown
    from cwndlab.validation.references.paths import read
    from cwndlab.validation.references.reference import kernel_paths

    folder = ROOT / "known-answers" / "kernel"
    paths = read(kernel_paths())
    measured = {run.path for run in kept(folder / "runs.csv", paths)}
    names = list(dict.fromkeys(trial.path for trial in paths.trials))
    shown = markdown(*campaign(folder, paths=[name for name in names if name in measured]))
    missing = [name for name in names if name not in measured]
    return shown + (f"\n\nNot measured yet: {', '.join(missing)}." if missing else "")


def _linux_hosts() -> str:
    """The kept runs of Linux in virtual time, beside those of a machine's kernel, and the simulator beside them."""
    from cwndlab.validation import linux

    known = ROOT / "known-answers"
    machine = known / "kernel" / "runs.csv"
    out = []
    for folder, beside, ours, theirs in (
        (known / "linux-hosts", machine, "Linux 6.1 in virtual time", "the machine's kernel"),
        (known / "linux-hosts-6.18", machine, "Linux 6.18 in virtual time", "the machine's kernel"),
        (known / "linux-hosts", None, "the simulator", "Linux 6.1 in virtual time"),
    ):
        verdicts, notes = linux.judge_kept(folder, beside=beside)
        out += [f"**{ours[0].upper()}{ours[1:]} beside {theirs}.** {notes[0].split(', in the')[0]}.", ""]
        out += [*_shares_and_worst(verdicts, ours, theirs), ""]
    return "\n".join(out + [f"{note}." for note in notes if note.startswith("Not measured yet")])


def _shares_and_worst(verdicts: Sequence[Any], ours: str, theirs: str) -> list[str]:
    """How many quantities hold by algorithm, and the ten largest deviations."""
    from cwndlab.validation import kernel

    out = ["| algorithm | judged | hold | within the spread |", "|---|---:|---:|---:|"]
    for one in kernel.shares(verdicts):
        near = [each for each in verdicts if each.algorithm == one["algorithm"] and abs(each.deviation) <= each.spread]
        out.append(f"| `{one['algorithm']}` | {one['judged']} | {one['hold']} | {len(near)} |")
    worst = sorted(verdicts, key=lambda each: -abs(each.deviation) / each.tolerance)[:10]
    columns = ("path", "algorithm", "quantity", ours, theirs, *kernel.COLUMNS[5:])
    return [*out, "", "The ten largest deviations, by tolerance:", "", *kernel.table(worst, columns)]


def _linux_algorithms() -> str:
    """The simulator's forms of Linux' other algorithms beside the kept runs of Linux in virtual time."""
    from cwndlab.validation import linux

    folder = ROOT / "known-answers" / "linux-algorithms"
    verdicts, notes = linux.judge_kept(folder, file=folder / "paths.toml")
    lines = _shares_and_worst(verdicts, "the simulator", "Linux in virtual time")
    return "\n".join(
        [f"{notes[0]}. {sum(one.holds for one in verdicts)} of {len(verdicts)} quantities hold.", "", *lines]
    )


def _linux_dctcp() -> str:
    """The simulator's DCTCP beside the kept runs of Linux in virtual time: all quantities."""
    from cwndlab.validation import kernel, linux

    folder = ROOT / "known-answers" / "linux-dctcp"
    verdicts, notes = linux.judge_kept(folder, file=folder / "paths.toml")
    (share,) = kernel.shares(verdicts)
    columns = ("path", "algorithm", "quantity", "the simulator", "Linux in virtual time", *kernel.COLUMNS[5:])
    summary = f"{notes[0]}. {share['hold']} of {share['judged']} quantities ({share['share']:.0%}) hold."
    return "\n".join([summary, "", *kernel.table(verdicts, columns)])


def _virtual_linux() -> str:
    """The kept runs of the virtual Linux, compared with the current simulator."""
    kept = ROOT / "known-answers" / "virtual-linux.jsonl"
    command = [sys.executable, "-m", "virtual_linux", "compare", "--out", str(kept)]
    done = subprocess.run(command, cwd=ROOT / "tools", capture_output=True, text=True, check=True)
    return f"```\n{done.stdout.strip()}\n```"


def _applications() -> str:
    table = _text(sys.executable, "examples/applications/run.py")
    kernel = _text("uname", "-r")
    return f"Linux {kernel}:\n\n```\n{table}\n```"


def _shown(*arguments: str) -> str:
    """The output of a command of cwndlab."""
    return f"```\n{_text(str(BIN / 'cwndlab'), *arguments)}\n```"


def _shown_script(script: str) -> str:
    """The output of a Python script with its command."""
    return f"`.venv/bin/python {script}`:\n\n```\n{_text(sys.executable, script)}\n```"


def _training() -> str:
    """The kept output of the training of the example's policy."""
    return f"```\n{(ROOT / 'examples' / 'learned-policy.txt').read_text(encoding='utf-8').strip()}\n```"


def _shown_with_command(*arguments: str) -> str:
    """The output with its command, without the option of an output folder."""
    command = " ".join(arguments[: arguments.index("--out")] if "--out" in arguments else arguments)
    return f"`.venv/bin/cwndlab {command}`:\n\n{_shown(*arguments)}"


def first_table(command: str) -> str:
    """A command and its first table. The remaining output is in the report."""
    first = _text(*command.split(" ")).split("\n\n")[0]
    return textwrap.indent("\n".join([f"$ {command}", "", *first.splitlines()]), "    ")


def _of_log(name: str) -> str:
    """The output of the last command of a page that makes or reads a log."""
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    programs = tuple(f".venv/bin/cwndlab {command} " for command in ("run", "export", "audit", "identify"))
    with tempfile.TemporaryDirectory() as folder:
        for line in (line for line in page.splitlines() if line.startswith(programs)):
            words = [sys.executable, "-m", "cwndlab", *shlex.split(line)[1:]]
            done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder)
    return textwrap.indent(done.stdout.strip("\n"), "    ", lambda line: bool(line.strip()))


def _stacks() -> str:
    """The tables of tools/stacks/table.py, from the kept result."""
    return _text(sys.executable, "tools/stacks/table.py")


def _with_output(name: str) -> str:
    """The command of a block with its whole output."""
    command = generated.recipes()[name].command
    output = _text(*shlex.split(command))
    return textwrap.indent("\n".join([f"$ {command}", "", *output.splitlines()]), "    ")


def _uplink() -> str:
    """The picture of the comparison of docs/howto-uplink.md, which README.md shows as well."""
    file = ROOT / "docs" / "pictures" / "uplink.svg"
    command = generated.recipes()["compare uplink"].command.split()
    across, up = "p95_one_way_delay_ms@call", "goodput_bps@upload"
    pictures.trade_off(pictures.compared([str(ROOT / command[0]), *command[1:]]), across, up, file)
    alt = "Delay of the call, 95th percentile, and goodput of the upload, for seven algorithms"
    return f"![{alt}](pictures/{file.name})"


def _presets() -> str:
    from cwndlab.scenario import presets

    rows = (f"| `{row['name']}` | {row['title']} |" for row in presets.listing())
    return "\n".join(["| name | is |", "|---|---|", *rows])


def _reproductions() -> str:
    """From kept results; nothing is run."""
    from cwndlab.reproduction.summary import overview

    return overview(ROOT / "results")


def _facts() -> str:
    """What the generated tables of docs/ say, in a line for README.md."""
    from cwndlab.suites import SUITES

    def block(page: str, name: str) -> str:
        return next(one.body for one in generated.blocks([ROOT / "docs" / page]) if one.name == name)

    def judged(text: str) -> tuple[int, int]:
        rows = re.findall(r"^\|[^|]*(?:\|[^|]*)?\| (\d+) \| (\d+) \| \d+%", text, re.MULTILINE)
        return sum(int(held) for _, held in rows), sum(int(total) for total, _ in rows)

    simulators, kernel = judged(block("validity.md", "validate")), judged(block("validity.md", "validate --kernel"))
    ratios: dict[str, list[float]] = {"ns-2": [], "ns-3": []}
    peers = block("performance.md", "bench-peers")
    for peer, ratio in re.findall(r"\| (ns-[23]) [^|]*\| [\d.]+ \| ([\d.]+) \|", peers):
        ratios[peer].append(float(ratio))

    def span(peer: str) -> str:
        return f"{min(ratios[peer]):.0f} to {max(ratios[peer]):.0f}"

    kinds = [entry.kind for entry in algorithms()]
    senders = sum(kinds.count(kind) for kind in ("growth", "whole", "router"))
    parts = [
        f"**{senders} [algorithms](docs/algorithms/README.md)**, {kinds.count('slow-start')} slow starts and "
        f"{kinds.count('recovery')} recoveries",
        f"**[validated](docs/validity.md)** against ns-2, ns-3 and Linux: {simulators[0]:,} of {simulators[1]:,} "
        f"quantities of kept runs are within tolerance, and {kernel[0]} of {kernel[1]} beside a machine's kernel",
        f"**[{span('ns-2')} times as fast](docs/performance.md)** as ns-2 and {span('ns-3')} times as ns-3",
        f"**judged** by {len(SUITES)} [suites](docs/suites.md) of drafts and RFCs",
        "**runs** on Linux and macOS, in a browser, between [real TCP stacks](docs/emulation.md), "
        "in [Linux' TCP](docs/kernel.md) and over [QUIC](docs/quic.md)",
    ]
    return " · ".join(parts) + "."


def _first_paragraph(thing: object) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def _arguments(function: Callable[..., object]) -> str:
    """The signature of a function without types, which are in the stubs."""
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

    lines = ["| name | is | unit | wanted | formula | source |", "|---|---|---|---|---|---|"]
    return "\n".join(
        [*lines, *("| " + " | ".join(str(cell or "–") for cell in row.values()) + " |" for row in listing())]
    )


def _slow_starts() -> str:
    """The tables of examples/slow-starts.toml by metric."""
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        for title, metric in (
            ("Mean completion of a transfer, s", "mean_completion_s"),
            ("Packets retransmitted", "retransmitted_packets"),
        ):
            options = ("--pivot", "algorithm,@path", "--metrics", metric, "--format", "markdown", "--out", folder)
            parts.append(f"{title}:\n\n{_text(str(BIN / 'cwndlab'), 'sweep', 'examples/slow-starts.toml', *options)}")
    return "\n\n".join(parts)


def _stack() -> str:
    from cwndlab.scenario.stacks import markdown

    return markdown()


def _bounds() -> str:
    """The slowest downloads and the delays of calls of C4's test cases, by the text of the draft and by its code."""
    from cwndlab import suites

    texts = ("c4", "c4(delay=push)")
    results = [suites.run("c4-test", text).outcomes for text in texts]
    algorithms = " | ".join(f"`{text}`" for text in texts)
    downloads = [f"| case | within, s | {algorithms} |", "|---|---:|---:|---:|"]
    calls = [f"| case | | at most, ms | {algorithms} |", "|---|---|---:|---:|---:|"]
    for outcomes in zip(*results, strict=True):
        name = f"`{outcomes[0].case.name}`"
        for judged in zip(*(each.statements for each in outcomes), strict=True):
            bound = float(judged[0].expected.removeprefix("at most "))
            marks = ["" if one.holds else " *" for one in judged]
            got = [float(one.got) for one in judged]
            if len(outcomes[0].statements) == 1:
                cells = " | ".join(f"{value:.2f}{mark}" for value, mark in zip(got, marks, strict=True))
                downloads.append(f"| {name} | {bound:g} | {cells} |")
            else:
                what = judged[0].text.split(" in the worst")[0].replace("delay of ", "")
                cells = " | ".join(f"{1e3 * value:.1f}{mark}" for value, mark in zip(got, marks, strict=True))
                calls.append(f"| {name} | {what} | {1e3 * bound:g} | {cells} |")
    passed = [sum(outcome.verdict is suites.Verdict.PASSED for outcome in outcomes) for outcomes in results]
    total = f"{' and '.join(map(str, passed))} of {len(results[0])} cases pass."
    return "\n".join([*downloads, "", "The calls, in the worst of 100 runs:", "", *calls, "", total])


def _coverage() -> str:
    """One stopping rule for series of several spreads. Each share has a standard deviation of about half a percent."""
    from cwndlab.statistics import Until, coverage

    rule = Until("goodput_bps", 0.02, at_most=200)
    lines = ["| s / mean of single runs | repetitions, mean | intervals that hold the true mean |", "|---:|---:|---:|"]
    for spread in (0.01, 0.02, 0.03, 0.04, 0.05, 0.1):
        covered, count = coverage(spread, rule, runs=2000, seed=1)
        lines.append(f"| {spread:.0%} | {count:.1f} | {covered:.1%} |")
    return "\n".join(lines)


MAKERS: dict[str, Callable[[], str]] = {
    "slow starts": _slow_starts,
    "validate": _validity,
    "validate --kernel": _kernel,
    "linux hosts": _linux_hosts,
    "linux dctcp": _linux_dctcp,
    "linux algorithms": _linux_algorithms,
    "virtual linux": _virtual_linux,
    "applications": _applications,
    "bench": lambda: _text(sys.executable, "benches/engine.py", "engine"),
    "bench threads": lambda: _text(sys.executable, "benches/engine.py", "threads"),
    "bench algorithms": lambda: _text(sys.executable, "benches/engine.py", "algorithms"),
    "bench-peers": lambda: _text(sys.executable, "benches/peers.py").split("\n\n", 1)[1],
    "overhead": lambda: _shown("bench", "--overhead"),
    "kernel reports": lambda: _shown("kernel", "reports"),
    "bench python": lambda: _shown("bench", "--python"),
    "bench serve": lambda: _text(sys.executable, "benches/serve.py", "flood"),
    "bench serve classes": lambda: _text(sys.executable, "benches/serve.py", "classes"),
    "limits": _limits,
    "bench soak": lambda: _text(sys.executable, "benches/soak.py"),
    "bench emulator": lambda: _text(sys.executable, "benches/emulator.py"),
    "bench devices": lambda: _text(sys.executable, "benches/devices.py"),
    "bench gym": lambda: _text(sys.executable, "benches/gym.py"),
    "bench sweep": lambda: _text(sys.executable, "benches/sweep.py"),
    "bench playground": lambda: _text(sys.executable, "benches/playground.py"),
    **{
        f"bench kernel {part}": partial(_text, sys.executable, "benches/kernel.py", part)
        for part in ("latency", "cost", "beside", "schedules", "classes")
    },
    "dry-run ccm-ss-grid": lambda: _shown("sweep", "examples/ccm-ss-grid.py", "--dry-run", "--out", "build/grid"),
    "ns3 radio": lambda: _text(sys.executable, "tools/ns3_radio/compare.py"),
    "suite c4-test": _bounds,
    "l4s coexistence": lambda: _text(sys.executable, "tools/coexistence.py"),
    "l4s ratios": lambda: _text(sys.executable, "tools/coexistence.py", "ratios"),
    "partial-l4s": lambda: _text(sys.executable, "tools/partial_l4s.py"),
    "media coexistence": lambda: _text(sys.executable, "tools/media_coexistence.py"),
    "suite rfc8867": lambda: _text(sys.executable, "tools/suite_outcomes.py", "rfc8867"),
    "suite rfc9331": lambda: _text(sys.executable, "tools/suite_outcomes.py", "rfc9331"),
    "scream": lambda: _text(sys.executable, "tools/scream/compare.py"),
    "attack bbr1": lambda: _shown_with_command("attack", "bbr1"),
    "tune ccm-ss": lambda: _shown_with_command("tune", "examples/tune-ccm-ss.toml", "--out", "build/tune-ccm-ss"),
    "tune iot": lambda: _shown_with_command("tune", "examples/tune-iot.toml", "--out", "build/tune-iot"),
    "learn": lambda: _shown_script("examples/learn.py"),
    "learn training": _training,
    "instructions": lambda: _text(sys.executable, "benches/instructions.py", "--committed"),
    "reproductions": _reproductions,
    "picture uplink": _uplink,
    "clinic": partial(
        service_levels.markdown,
        "clinic-remedies",
        "clinic.svg",
        "Runs that missed the service level of each class, for 5 queues and five algorithms",
        ["queue"],
        "cubic",
    ),
    "clinic-backup": partial(
        service_levels.markdown,
        "clinic-backup",
        "clinic-backup.svg",
        "Runs that missed the service level of each class, for two queues and four lines",
        ["queue", "line"],
    ),
    "ward": partial(
        service_levels.markdown,
        "ward-remedies",
        "ward.svg",
        "Runs that missed the service level of each class, for five remedies on the ward's Wi-Fi",
        ["remedy"],
    ),
    "smart-city": partial(
        service_levels.markdown,
        "smart-city-restart",
        "smart-city.svg",
        "Runs that missed the service level of each class, for three congestion controls of CoAP and three sites",
        ["site", "control"],
    ),
    **{f"bbr {question}": partial(bbr_questions.markdown, question, *shown) for question, shown in BBR.items()},
    "audit": partial(_of_log, "audit.md"),
    "identify": partial(_of_log, "identify.md"),
    "stacks": _stacks,
    **{f"interop {part}": partial(_text, sys.executable, "tools/interop/table.py", part) for part in INTEROP},
    **{f"debug {name}": partial(_with_output, f"debug {name}") for name in ("beta", "loss", "previous", "class")},
    "presets": _presets,
    "stack": _stack,
    "fields": declared_files.fields,
    "contract": rust_contract.traits,
    "whole algorithm": rust_contract.example,
    "facts": _facts,
    "dossiers": partial(_text, sys.executable, "tools/dossiers.py"),
    "findings": records_doc.findings,
    "queues": declared_files.queues,
    "fields scenario": partial(declared_files.table, "scenario"),
    **{f"fields {table}": partial(declared_files.table, table) for table in ("link", "cell", "rlc", "grants", "rrc")},
    "fields flow": partial(declared_files.table, "flow"),
    "workloads": declared_files.workloads,
    "python": _public,
    "python metrics": _metrics,
    "metrics": _list_of_metrics,
    "coverage": _coverage,
    "seeded faults": seeded_faults.markdown,
    "hosted faults": hosted_faults.markdown,
    "attack confirmations": confirmations.markdown,
    **{f"records {table}": partial(records_doc.markdown, table) for table in records_doc.TABLES},
}
