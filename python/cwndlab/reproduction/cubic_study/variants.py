"""What the CUBIC study compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cwndlab.reproduction.ccm_ss.grid import NS2
from cwndlab.reproduction.claims import Kind

#: The stack of all its senders.
STACK = NS2

#: The CUBIC of the paper's Algorithm 2, which is its printed pseudo-code, and RFC 9438's.
CUBIC, CUBIC_TODAY = "CUBIC (Algorithm 2)", "CUBIC (RFC 9438)"
CUBICS = {CUBIC: "cubic-ns2+standard/sack", CUBIC_TODAY: "cubic+standard/sack"}
COMPOUND, NEWRENO = "Compound", "NewReno"
OTHERS = {COMPOUND: "ctcp+standard/sack", NEWRENO: "reno+standard/newreno"}
VARIANTS = {**CUBICS, **OTHERS}

#: Readings of what the paper leaves open: changes of the stack. The first is the base assumption.
_STACKS: Mapping[str, Mapping[str, Any]] = {
    "base": {},
    "sst = 100": {"initial_ssthresh": 100},
    "receiver window 20": {"receive_window": "30000 B"},
}
BASE = "base"
READINGS = tuple(_STACKS)


def stack(reading: str = BASE) -> dict[str, Any]:
    """Profile and stack under a reading."""
    return {**STACK, "stack": {**STACK["stack"], **_STACKS[reading]}}


def kind(cubic: str, reading: str = BASE) -> Kind:
    """A claim at the base assumptions, or a reading."""
    return "claim" if cubic == CUBIC and reading == BASE else "reading"


ASSUMPTIONS = (
    "The paper names neither simulator settings nor CUBIC's constants: its Algorithm 2 is the base, which is CUBIC 2.1 "
    "of Linux 2.6.22 and ns-2.35 once its misprints are repaired; RFC 9438 is another reading.",
    "All senders have the ns-2 stack (initial window 2, one ACK per segment, 1500-byte packets) without a limit of the "
    "receiver; NewReno recovers by NewReno, the others by SACK.",
)
READINGS_ASSUMED = (
    "Other readings: an initial ssthresh of 100 segments, the sst of Algorithm 2; a receiver's window of 20 packets, "
    "ns-2's default."
)
