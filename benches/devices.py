"""Many devices for an hour: CPU time and memory of `cwndlab run`, records included.

`make bench`. A hospital's line: 2,000 devices, half over MQTT and half over CoAP, and 50 bulk transfers. A cell of
802.11g: 10,000 meters over CoAP. CPU time and the largest resident memory are those of the whole process, Python
included. Prints Markdown.

    .venv/bin/python benches/devices.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HOUR = "3600 s"


def _hospital() -> dict[str, object]:
    uplink = {"from": "gateway", "to": "cloud", "rate": "100 Mbps", "delay": "12 ms", "queue": {"kind": "cake"}}
    from_device = {"from": "device", "to": "cloud", "count": 1000, "dscp": "AF21"}
    mqtt = {"kind": "mqtt", "qos": 1, "payload": "200 B", "period": "10 s"}
    coap = {"kind": "coap", "method": "observe", "payload": "150 B", "period": "15 s"}
    bulk = {"from": "desk", "to": "cloud", "count": 50, "start_step": "60 s", "algorithm": "cubic"}
    return {
        "start_jitter": "10 s",
        "node": [
            {"name": "cloud"},
            {"name": "gateway"},
            {"name": "device", "count": 2000},
            {"name": "desk", "count": 50},
        ],
        "link": [
            uplink,
            {"from": "gateway", "to": "device", "rate": "100 Mbps", "delay": "1 ms"},
            {"from": "gateway", "to": "desk", "rate": "1 Gbps", "delay": "100 us"},
        ],
        "flow": [
            from_device | {"name": "vitals", "algorithm": "cubic", "workload": mqtt, "service": {"deadline": "2 s"}},
            from_device | {"name": "pumps", "transport": "udp", "workload": coap, "service": {"deadline": "5 s"}},
            bulk | {"name": "bulk", "workload": {"kind": "bulk", "bytes": "100 MB"}},
        ],
    }


def _cell() -> dict[str, object]:
    meter = {"name": "meter", "transport": "udp", "from": "sensor", "to": "cloud", "count": 10_000}
    coap = {"kind": "coap", "payload": "100 B", "period": "900 s"}
    return {
        "start_jitter": "900 s",
        "node": [{"name": "cloud"}, {"name": "gateway"}, {"name": "sensor", "count": 10_000}],
        "medium": [{"name": "cell", "standard": "802.11g"}],
        "link": [
            {"from": "gateway", "to": "cloud", "rate": "20 Mbps", "delay": "30 ms"},
            {"from": "gateway", "to": "sensor", "medium": "cell"},
        ],
        "flow": [meter | {"workload": coap, "service": {"deadline": "10 s"}}],
    }


def _measured(scenario: dict[str, object]) -> tuple[float, float, int]:
    """CPU seconds, resident memory in MB, and messages."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "scenario.json"), Path(folder, "out")
        head = {"schema_version": 1, "duration": HOUR, "sample_interval": "60 s"}
        file.write_text(json.dumps(head | scenario), encoding="utf-8")
        command = [sys.executable, "-m", "cwndlab", "run", str(file), "--seed", "1", "--out", str(out)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"{' '.join(command)}: status {os.waitstatus_to_exitcode(status)}")
        import cwndlab

        messages = len(cwndlab.Records.read(out).messages)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, messages


def main() -> None:
    """Prints the table."""
    lines = ["| an hour of | messages | CPU time, s | memory, MB |", "|---|---:|---:|---:|"]
    for name, scenario in (
        ("2,000 devices and 50 bulk transfers on a line of 100 Mbit/s", _hospital()),
        ("10,000 meters in a cell of 802.11g", _cell()),
    ):
        cpu, memory, messages = _measured(scenario)
        lines.append(f"| {name} | {messages:,} | {cpu:.1f} | {memory:.0f} |")
    print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    main()
