"""The list of suites; their cases are imported when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cwndlab.suites.case import Case


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A list of cases from one source.

    Examples
    --------
    >>> import cwndlab
    >>> suite = cwndlab.suites.SUITES["rfc9937"]
    >>> suite.reference, len(suite.cases)
    ('reno', 5)
    """

    name: str
    title: str
    source: str
    reference: str
    """The algorithm of the catalogue that implements the source."""
    judges_media: bool = False
    """It tests congestion controls of real-time media: ``control`` of the workload ``adaptive-video``."""
    media: tuple[str, ...] = ()
    """Such controls of the tree that it tests."""

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The cases, in the order of the source."""
        return tuple(import_module(f"cwndlab.suites.{self.name.replace('-', '_')}").CASES)


_DRAFT = "draft-ietf-ccwg-bbr, appendix (August 2026)"
_ALL = (
    Suite(name="bbr-draft", title="BBR example test cases", source=_DRAFT, reference="bbr3"),
    Suite(name="rfc9438", title="CUBIC", source="RFC 9438", reference="cubic"),
    Suite(name="rfc9406", title="HyStart++", source="RFC 9406", reference="cubic+hystart-pp"),
    Suite(name="rfc5681", title="TCP congestion control", source="RFC 5681", reference="reno"),
    Suite(name="rfc6298", title="Retransmission timer", source="RFC 6298", reference="reno"),
    Suite(name="rfc6675", title="SACK-based loss recovery", source="RFC 6675", reference="reno"),
    Suite(name="rfc8985", title="RACK-TLP", source="RFC 8985", reference="reno"),
    Suite(name="rfc9937", title="Proportional rate reduction", source="RFC 9937", reference="reno"),
    Suite(name="c4-test", title="C4", source="draft-huitema-ccwg-c4-test (November 2025)", reference="c4"),
    Suite(
        name="rfc8867",
        title="Real-time media",
        source="RFC 8867, RFC 8869",
        reference="nada",
        judges_media=True,
        media=("nada", "scream2", "gcc"),
    ),
    Suite(name="rfc9331", title="Scalable sender for L4S", source="RFC 9331", reference="prague", media=("scream2",)),
)
#: The suites by name, in the order of their listing.
SUITES: dict[str, Suite] = {one.name: one for one in _ALL}
