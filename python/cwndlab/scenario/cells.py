"""Cells of LTE and 5G NR, whose resource blocks the links of a graph share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cwndlab.scenario.links import Harq
from cwndlab.scenario.schema_tables import TABLES, Table

__all__ = ["Cell", "Grants", "Rlc", "Rrc"]


@dataclass(frozen=True, kw_only=True)
class Rlc(Table):
    """Radio link control. ``mode="am"``: blocks that HARQ gave up are repeated after ``recovery``; ``"um"``: their
    packets are lost after ``reordering``."""

    mode: Literal["am", "um"] | None = None
    recovery: str | None = None
    reordering: str | None = None


@dataclass(frozen=True, kw_only=True)
class Grants(Table):
    """Grants of the uplink: opportunities for requests every ``request_interval``, ``delay`` from a request or report
    to the transmission, and the size of the ``first`` grant."""

    request_interval: str | None = None
    delay: str | None = None
    first: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rrc(Table):
    """States of a user: released ``inactivity`` after the last packet, connected again in the time ``promotion``; a
    downlink packet waits for the ``paging_cycle`` before."""

    inactivity: str | None = None
    promotion: str | None = None
    paging_cycle: str | None = None


@dataclass(frozen=True, kw_only=True)
class Cell(Table):
    """A cell with the node ``base_station``; links from it are downlink, links to it are uplink.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.scenario.cells import Cell
    >>> air = [cwndlab.Link(from_="enb", to=f"ue{n}", cell="lte", snr=20.0, delay="20 ms") for n in (1, 2)]
    >>> flows = [cwndlab.Flow("cubic", from_="enb", to=f"ue{n}") for n in (1, 2)]
    >>> cells = [Cell(name="lte", base_station="enb")]
    >>> records = cwndlab.run(cwndlab.Scenario(duration="2 s", cells=cells, links=air, flows=flows), seed=1)
    >>> len(records.cell_users) > 0
    True
    """

    name: str
    base_station: str
    technology: Literal["lte", "nr"] | None = None
    resource_blocks: int | None = None
    resource_elements: int | None = None
    scheduler: Literal["proportional-fair", "round-robin", "max-rate"] | None = None
    averaging: str | None = None
    cqi_delay: str | None = None
    harq: Harq | None = None
    rlc: Rlc | None = None
    grants: Grants | None = None
    rrc: Rrc | None = None
    forwarding: bool | None = None


TABLES.update({"cells": Cell, "rlc": Rlc, "grants": Grants, "rrc": Rrc})


def __dir__() -> list[str]:
    return __all__
