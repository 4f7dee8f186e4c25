"""The tables of docs/interop.md: known-answers/interop.json with the causes of causes.toml."""

from __future__ import annotations

import json
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from interop.comparison import TOLERANCE, beyond

HERE = Path(__file__).resolve().parent
RESULT = HERE.parents[1] / "known-answers" / "interop.json"
#: Columns of the first table.
COLUMNS = {
    "forward_bytes": "payload →, B",
    "backward_bytes": "payload ←, B",
    "carriers": "packets with payload",
    "carrier_bytes": "bytes of these",
    "bare": "bare ACKs",
    "packets": "all packets",
    "wire_bytes": "all bytes",
    "exchange_ms": "exchange, ms",
    "set_up_ms": "set-up, ms",
}
#: All quantities, in words.
WORDS = {
    "forward_bytes": "payload →",
    "backward_bytes": "payload ←",
    "carriers": "packets with payload",
    "carrier_bytes": "bytes of packets with payload",
    "bare": "bare ACKs",
    "packets": "all packets",
    "wire_bytes": "all bytes",
    "exchange_ms": "exchange",
    "span_ms": "all exchanges",
    "set_up_bytes": "payload of the set-up",
    "set_up_ms": "set-up",
}


def cell(row: dict[str, Any], key: str) -> str:
    """Real and simulated value, and the deviation."""
    real, simulated, part = row["quantities"][key]
    if real is None:
        return "–"
    places = 1 if key.endswith("_ms") else 0
    spent = row["computing"].get(key, 0.0)
    shown = f"{real:,.{places}f}" + (f" ({spent:.1f})" if spent >= 0.05 else "")
    if part is None:
        return f"{shown}; {simulated:,.{places}f}"
    deviation = f"{100 * part:+.1f} %" if part else "0"
    if abs(part) > TOLERANCE:
        deviation = f"**{deviation}**"
    return f"{shown}; {simulated:,.{places}f}; {deviation}"


def cases(result: dict[str, Any]) -> list[str]:
    """The table of the cases."""
    rate, rtt = result["path"]["rate"].replace("Mbps", "Mbit/s"), result["path"]["rtt"]
    lines = [
        f"`{result['command']}`, {result['machine']}, {result['date']}; {rate}, base RTT {rtt}. Each cell: programs; "
        "workload; deviation.",
        "",
        f"| case | order | {' | '.join(COLUMNS.values())} |",
        f"|---|---|{'---|' * len(COLUMNS)}",
    ]
    for row in result["cases"]:
        ours, theirs = row["turns"][1], row["turns"][0]
        order = f"{theirs} turn{'s' if theirs > 1 else ''}, same" if row["same_order"] else f"{theirs}; {ours} turns"
        lines.append(f"| {row['case']} | {order} | {' | '.join(cell(row, key) for key in COLUMNS)} |")
    versions = {f"{name} {version}" for row in result["cases"] for name, version in row["programs"].items()}
    return [*lines, "", f"Programs: {', '.join(sorted(versions, key=str.lower))}."]


def causes(result: dict[str, Any]) -> list[str]:
    """The deviations beyond the tolerance by their cause."""
    known = tomllib.loads((HERE / "causes.toml").read_text(encoding="utf-8"))["cause"]
    found: dict[str, list[str]] = {}
    for row in result["cases"]:
        by_cause: dict[str, list[str]] = {}
        for key in beyond(row):
            text = next((one["text"] for one in known if fits(one, row["case"], key)), "Not explained.")
            by_cause.setdefault(text, []).append(f"{WORDS[key]} {100 * row['quantities'][key][2]:+.0f} %")
        for text, quantities in by_cause.items():
            found.setdefault(text, []).append(f"{row['case']}: {', '.join(quantities)}")
    if not found:
        return ["No quantity of a case deviates by more than 5 %."]
    lines = [f"| {text} | {'; '.join(places)} |" for text, places in found.items()]
    return ["| cause | deviations beyond 5 % |", "|---|---|", *lines]


def fits(cause: dict[str, Any], case: str, quantity: str) -> bool:
    """Whether a cause is that of a case's quantity."""
    return any(fnmatch(case, one) for one in cause["cases"]) and quantity in cause["quantities"]


def timeouts(result: dict[str, Any]) -> list[str]:
    """The table of CoAP's retransmissions."""
    path, both = result["loss"], result["timeouts"]
    lines = [
        f"{path['flows']} peers, {path['rate'].replace('Mbps', 'Mbit/s')}, base RTT {path['rtt']}, random loss of "
        f"{100 * path['loss']:.0f} % in each direction; RFC 7252 has 2 to 3 s for the first timeout and a factor of 2:",
        "",
        "| | messages | retransmitted | first timeout, s | mean, s | next timeout / timeout |",
        "|---|---:|---:|---|---:|---|",
    ]
    for kind, title in (("programs", "aiocoap"), ("simulated", "workload")):
        one = both[kind]
        lines.append(
            f"| {title} | {one['messages']} | {one['retransmitted']} | {one['first_min_s']:.3f} to "
            f"{one['first_max_s']:.3f} | {one['first_mean_s']:.3f} | {one['ratio_min']:.3f} to {one['ratio_max']:.3f} "
            f"({one['ratios']}) |"
        )
    return lines


def service(result: dict[str, Any]) -> list[str]:
    """The table of deadlines and transfer times."""
    lines = [
        "| path | deadline, ms | | late, % | mean until the PUBACK, ms | p95, ms | agrees with the simulator |",
        "|---|---:|---|---|---|---|---|",
    ]
    own_ms = result["service"][0]["own_ms"]
    titles = {
        "programs": f"paho-mqtt and mosquitto, own time {own_ms:.2f} ms",
        "emulated": "emulator's endpoints",
        "simulated": "simulator",
    }
    for row in result["service"]:
        for kind, title in titles.items():
            values = row["values"][kind]
            late = interval(values["late"], 100, 2)
            times = [interval(values[key], 1, 1) for key in ("mean_ms", "p95_ms")]
            agree = row["agree"].get(kind)
            words = {"late": "late", "mean_ms": "mean", "p95_ms": "p95"}
            not_in = [words[key] for key, holds in (agree or {}).items() if not holds]
            verdict = "" if agree is None else f"no: {', '.join(not_in)}" if not_in else "yes"
            first = kind == "programs"
            place = f"{row['path']} | {row['deadline_ms']:.0f}" if first else " | "
            lines.append(f"| {place} | {title} | {late} | {' | '.join(times)} | {verdict} |")
    return lines


def interval(value: list[float | None], factor: float, places: int) -> str:
    """A mean with its interval."""
    mean, low, high = (None if one is None else f"{factor * one:.{places}f}" for one in value)
    return f"{mean} [{low}, {high}]" if low is not None else str(mean)


def table(name: str) -> str:
    """A block of the page."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    parts = {"cases": cases, "causes": causes, "timeouts": timeouts, "service": service}
    return "\n".join(parts[name](result))


if __name__ == "__main__":
    sys.stdout.write(table(sys.argv[1]) + "\n")
