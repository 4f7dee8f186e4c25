"""Reference folders: runs of an independent peer, with what its senders are in our words and its own tolerances.

A folder holds ``reference.json`` (senders, tolerances, how rows are judged), ``scenarios.json`` and summaries; which
files, and what each key of ``reference.json`` means, says ``known-answers/README.md``.
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, RecordsError
from cwndlab.files import parsed
from cwndlab.validation.references import keys, ns3, wifi

#: What every reference says of itself, and as which type a program can read it.
_NEEDED: dict[str, type] = {
    "kind": str,
    "senders": dict,
    "tolerances": dict,
    "columns": dict,
    "profile": str,
    "ack": dict,
}

#: What a folder may say in part: the bundled folder of its kind says the rest.
_MERGED = ("sender_stacks", "not_counted")

#: Linux: the most quick ACKs (`TCP_MAX_QUICKACKS`), and the receive window of a new connection, bytes.
MAX_QUICK_ACKS, FIRST_WINDOW = 16, 65_535


def bundled() -> list[Path]:
    """The reference folders that come with cwndlab."""
    return [_bundled(kind) for kind in ("ns2", "linux", "ns3")]


def kernel_paths() -> Path:
    """The file of paths on which simulator and kernel are compared (`cwndlab.validation.references.paths`)."""
    return _bundled("kernel") / "paths.toml"


def _bundled(kind: str) -> Path:
    here = Path(__file__).resolve()
    # As in `cwndlab.scenario.presets.folder`, the working tree comes first.
    for base in (here.parents[4] / "known-answers", here.parents[2] / "_known_answers"):
        if (base / kind).is_dir():
            return base / kind
    raise RecordsError(
        Fault("known-answers", "the bundled references are not installed", "name a folder: --reference DIR")
    )


class Reference:
    """A reference folder, read; ``scenarios`` are in one form, whatever the folder's."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.about = self._json("reference.json")
        self.scenarios = self._json("scenarios.json")
        #: Cells of Wi-Fi, which are judged apart.
        self.cells: tuple[wifi.Case, ...] = ()
        self.untried: tuple[str, ...] = ()
        #: What was worded anew and what waits for a part of cwndlab that is not there: notes for the reader.
        self.reworded: list[str] = []
        self.waiting: dict[str, str] = {}
        self._check_keys()
        if ns3.recognises(self.scenarios):
            self.about["senders"] = ns3.senders(self.about, self.scenarios)
        self._reword()
        self._check()
        if ns3.recognises(self.scenarios):
            self.cells = tuple(wifi.cases(self, self.scenarios))
            self.untried = wifi.untried(self, self.scenarios)
            self.scenarios, self.waiting = ns3.scenarios(self.scenarios)

    @property
    def kind(self) -> str:
        """The peer: the first part of a scenario's name in the answer."""
        return str(self.about["kind"])

    def _check_keys(self) -> None:
        """Raises the faults of all keys that are not known: what they ask for would not be run."""
        of_scenarios = keys.of_ns3 if ns3.recognises(self.scenarios) else keys.of_scenarios
        faults = [
            *keys.of_reference(str(self.folder / "reference.json"), self.about),
            *of_scenarios(str(self.folder / "scenarios.json"), self.scenarios),
        ]
        if faults:
            raise RecordsError(*faults)

    def _check(self) -> None:
        where = str(self.folder / "reference.json")
        faults = []
        for key, kind in _NEEDED.items():
            if key not in self.about:
                faults.append(Fault(where, f"has no '{key}'", "see known-answers/README.md"))
            elif not isinstance(self.about[key], kind):
                hint = "a table by kind of scenario" if key == "tolerances" else f"a {kind.__name__}"
                faults.append(
                    Fault(where, f"'{key}' is '{self.about[key]}', which no program can read", f"write {hint}")
                )
        if faults:
            raise RecordsError(*faults)

    def _reword(self) -> None:
        """A reference of a kind that is bundled means the same peer: its senders are worded as the bundled one words
        them, with the peer's quirks by the names of our options, and what it leaves to prose is the bundled one's."""
        home = next((folder for folder in bundled() if folder.name == self.about.get("kind")), None)
        if home is None or home.resolve() == self.folder.resolve():
            return
        ours = parsed((home / "reference.json").read_text(encoding="utf-8"))
        for key, value in ours.items():
            mine = self.about.get(key)
            if mine is None or (isinstance(value, dict) and not isinstance(mine, dict)):
                self.about[key] = value
                if key in _NEEDED:
                    self.reworded.append(f"'{key}' is taken over, since the folder has none that a program can read")
            elif key in _MERGED:
                self.about[key] = {**value, **mine}
        if not isinstance(self.about.get("senders"), dict):
            return
        senders = self.about["senders"]
        for name, better in ours["senders"].items():
            text = senders.get(name)
            if text is not None and better is not None and better != text:
                self.reworded.append(f"{name}: '{text}' is run as '{better}'")
            senders[name] = None if name in senders and text is None else better

    def _json(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        try:
            loaded: dict[str, Any] = parsed(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise RecordsError(
                Fault(str(path), f"cannot be read: {error.strerror}", "a folder with reference.json and scenarios.json")
            ) from None
        except ValueError as error:
            raise RecordsError(Fault(str(path), f"is no JSON: {error}", "")) from None
        if not isinstance(loaded, dict):
            raise RecordsError(Fault(str(path), "is not a table", "see known-answers/README.md"))
        return loaded

    def summary(self, scenario: str) -> list[dict[str, str]]:
        """The rows of a scenario, one per run and flow; ``algo`` names the sender, whatever the folder calls it."""
        together = self.about.get("summary")
        name = together or f"{scenario}_summary.csv"
        rows = [row for row in self.table(name) if together is None or row["scenario"] == scenario]
        named = self.about["columns"].get("algorithm", "algo")
        if rows and named not in rows[0]:
            where = str(self.folder / name)
            raise RecordsError(Fault(where, f"has no column '{named}'", "'columns' of reference.json names them"))
        return [{**row, "algo": row[named]} for row in rows]

    def table(self, name: str) -> list[dict[str, str]]:
        """The rows of a file of figures."""
        path = self.folder / name
        if not path.is_file():
            raise RecordsError(Fault(str(path), "is missing", "every scenario has its summary"))
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def cuts(self, scenario: str) -> list[dict[str, str]]:
        """Window reductions of a scenario; none if the folder has no such file."""
        path = self.folder / f"{scenario}_cuts.csv.gz"
        if not path.is_file():
            return []
        with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def drop_list(self, name: str, run: int) -> list[int]:
        """The packets that are lost in run number ``run``."""
        with (self.folder / name).open(newline="", encoding="utf-8") as file:
            return [int(row["packet_index"]) for row in csv.DictReader(file) if int(row["rep"]) == run]

    # --- the scenario in our terms

    def document(self, name: str, text: str, algorithm: str, run: int) -> dict[str, Any]:
        """The scenario ``name`` as our document, for run number ``run``; ``text`` is the sender in our words."""
        spec = self.scenarios[name]
        queue: dict[str, Any] = {"kind": "droptail", "capacity": f"{spec['buffer_packets']} packets"}
        if spec.get("buffer_counts_packet_in_service", self.about.get("buffer_counts_packet_in_service")) is True:
            queue["counts_in_service"] = True
        if spec.get("mark_above_packets"):
            queue |= {"kind": "step-ecn", "mark_above": spec["mark_above_packets"]}
        bottleneck: dict[str, Any] = {"rate": f"{spec['bottleneck_rate_mbps']} Mbps", "queue": queue}
        one_way = spec.get("bottleneck_one_way_delay_ms")
        if one_way is None:
            one_way = min(flow["rtt_ms"] for flow in spec["flows"]) / 2
        bottleneck["delay"] = f"{one_way} ms"
        if spec.get("drop_list"):
            payload = "payload" in self.about.get("drop_list_counts", "")
            indices = self.drop_list(spec["drop_list"], run)
            bottleneck["loss"] = {"kind": "list", "indices": indices, "counts": "payload" if payload else "all"}
        elif spec.get("random_loss"):
            bottleneck["loss"] = {"kind": "bernoulli", "p": spec["random_loss"]}
        reverse: dict[str, Any] = {"queue": {"capacity": f"{spec.get('reverse_buffer_packets', 100000)} packets"}}
        if "reverse_rate_mbps" in spec:
            rate = spec["reverse_rate_mbps"]
            reverse = {"rate": "none"} if rate is None else {**reverse, "rate": f"{rate} Mbps"}
        dumbbell: dict[str, Any] = {"bottleneck": bottleneck, "reverse": reverse}
        if spec.get("access_rate_mbps"):
            dumbbell["access"] = {
                "rate": f"{spec['access_rate_mbps']} Mbps",
                "queue": {"capacity": f"{spec['access_queue_packets']} packets"},
            }
        transfers = spec.get("transfers")
        duration = spec["duration_s"] or transfers * 2.0
        flows = []
        for index, flow in enumerate(spec["flows"]):
            start = flow["start_s"] + run * (index + spec.get("start_jitter_from", 1)) * spec["start_jitter_s"]
            entry: dict[str, Any] = {
                "algorithm": text if flow["algorithm"] is None else self.about["senders"][flow["algorithm"]],
                "rtt": f"{flow['rtt_ms']} ms",
                "start": f"{start:.6f} s",
                "direction": flow.get("direction", "forward"),
                "profile": self.about["profile"],
                "stack": self.stack(spec, algorithm),
            }
            if transfers:
                entry["workload"] = {
                    "kind": "transfers",
                    "bytes": f"{spec['transfer_bytes']} B",
                    "count": transfers,
                    "new_connection": True,
                }
            flows.append(entry)
        return {
            "schema_version": 1,
            "title": f"{self.kind} {name} {algorithm} run {run}",
            "duration": f"{duration} s",
            "sample_interval": f"{self.about.get('events_sampled_s', 0.1)} s",
            "dumbbell": dumbbell,
            "flow": flows,
        }

    def stack(self, spec: dict[str, Any], algorithm: str = "") -> dict[str, Any]:
        """The values of the hosts: ``stack`` is what the peer does otherwise than the profile, ``sender_stacks`` what
        it does otherwise for one of its senders."""
        every = spec.get("ack_every", self.about["ack"]["every"])
        ack = self.about["ack"]
        if every > 1 and ack["every"] == 1:
            # A scenario of its own whose ACKs are delayed, in a folder of one ACK per segment.
            ack = self.about.get("ack_when_delayed", ack)
        delay = spec.get("ack_delay_s", ack["delay_s"])
        segment = spec.get("segment_bytes", spec.get("mss_bytes", self.about["segment_bytes"]))
        stack: dict[str, Any] = {
            **self.about.get("stack", {}),
            "mss": f"{segment} B",
            "header": f"{spec.get('header_bytes', self.about['header_bytes'])} B",
            "ack": f"{spec.get('ack_bytes', self.about['ack_bytes'])} B",
            "initial_window": spec["initial_window_segments"],
            "min_rto": f"{spec['minimum_rto_s']} s",
            "ack_every": every,
            "quick_acks": ack["quick_segments"],
        }
        if ack["quick_segments"] > MAX_QUICK_ACKS:
            # Each of these segments opens the receive window by two (Linux, tcp_grow_window).
            stack["initial_receive_window"] = f"{FIRST_WINDOW + 2 * segment * ack['quick_segments']} B"
        if delay is not None:
            stack["ack_delay"] = f"{delay} s"
        if spec.get("initial_ssthresh_segments"):
            stack["initial_ssthresh"] = spec["initial_ssthresh_segments"]
        if spec.get("receive_window_segments"):
            stack["receive_window"] = f"{spec['receive_window_segments'] * segment} B"
        elif spec.get("receive_window_bytes"):
            stack["receive_window"] = f"{spec['receive_window_bytes']} B"
        stack.update(self.about.get("sender_stacks", {}).get(algorithm, {}))
        return stack

    # --- what is judged

    def judged(self, algorithm: str, quantity: str) -> bool:
        """Whether the reference counts ``quantity`` for this sender at all."""
        left_out = f"{quantity} of {algorithm}" in self.about.get("not_judged", ())
        return not left_out and quantity not in self.about.get("not_counted", {}).get(algorithm, [])

    def untrusted(self, algorithm: str, scenario: str) -> str | None:
        """Why the reference's own README does not trust this row; `None` where it does."""
        reasons = self.about.get("not_judged", ())
        if not isinstance(reasons, dict):
            return None
        reason: str | None = reasons.get(f"{algorithm} in {scenario}", reasons.get(algorithm))
        return reason
