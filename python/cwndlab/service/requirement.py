"""What the flows of a scenario require of the network: the tables ``service`` of its flows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from cwndlab.errors import Fault, ScenarioError
from cwndlab.metrics.of_flow import groups
from cwndlab.scenario.units import duration_s


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """The service level of a class of flows; ``None`` states no requirement.

    Parameters
    ----------
    name
        The class.
    deadline_ns
        The longest time from the generation of a message to its delivery, ns.
    within
        The share of messages that meet the deadline, at least; 1 requires it of all.
    lifetime_ns
        A message that is not delivered within this time is lost, ns; by default the deadline.
    loss
        The share of lost messages, at most.
    gap_ns
        The longest time between deliveries, ns; also the survival time of the availability.
    age_ns
        The highest age of information, ns.
    availability
        The share of time without an outage, at least.
    apdex_ns
        The threshold T of Apdex, ns.
    playout_ns
        The time from the generation of a frame to its playout, ns; later ones count as lost.

    Examples
    --------
    >>> Requirement.of({"class": "alarms", "deadline": "500 ms", "loss": 0.0}).deadline_ns
    500000000
    """

    name: str
    deadline_ns: int | None = None
    within: float = 0.99
    lifetime_ns: int | None = None
    loss: float | None = None
    gap_ns: int | None = None
    age_ns: int | None = None
    availability: float | None = None
    apdex_ns: int | None = None
    playout_ns: int | None = None

    @classmethod
    def of(cls, service: Mapping[str, Any], name: str = "") -> Requirement:
        """The requirement of a table ``service`` of a flow; ``name`` is the class if it states none."""
        fields: dict[str, Any] = {
            f"{key}_ns": round(duration(str(service[key])) * 1e9)
            for key in ("deadline", "lifetime", "gap", "age", "apdex", "playout")
            if key in service
        }
        fields |= {key: float(service[key]) for key in ("within", "loss", "availability") if key in service}
        return cls(name=str(service.get("class", name)), **fields)

    @property
    def lost_after_ns(self) -> int | None:
        """The age at which a message counts as lost; without one, loss cannot be judged."""
        return self.deadline_ns if self.lifetime_ns is None else self.lifetime_ns

    @property
    def survival_ns(self) -> int | None:
        """The time without a message in time from which on there is an outage."""
        return self.deadline_ns if self.gap_ns is None else self.gap_ns

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        return asdict(self)


@cache
def duration(text: str) -> float:
    """A duration of a scenario, in seconds."""
    return duration_s(text, "service")


def requirements(document: Mapping[str, Any]) -> dict[int, Requirement]:
    """The requirement of each flow with a table ``service``, by the flow's index in the records.

    Parameters
    ----------
    document
        A scenario as plain values.

    Raises
    ------
    ScenarioError
        Two flows of one class state different requirements.

    Examples
    --------
    >>> flows = [{"algorithm": "cubic"}, {"name": "bed", "count": 2, "service": {"deadline": "1 s"}}]
    >>> {flow: one.name for flow, one in requirements({"flow": flows}).items()}
    {1: 'bed', 2: 'bed'}
    """
    found: dict[int, Requirement] = {}
    by_class: dict[str, Requirement] = {}
    first = 0
    for at, ((name, names), flow) in enumerate(zip(groups(document).items(), document["flow"], strict=True)):
        if "service" in flow:
            one = Requirement.of(flow["service"], name)
            if by_class.setdefault(one.name, one) != one:
                what = f"the class '{one.name}' has another requirement in a flow before it"
                raise ScenarioError(Fault(f"flow[{at}].service", what, "write the same values, or another class"))
            found |= dict.fromkeys(range(first, first + len(names)), one)
        first += len(names)
    return found
