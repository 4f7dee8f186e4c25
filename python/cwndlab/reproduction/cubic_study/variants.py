"""What the CUBIC study compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cwndlab.reproduction.ccm_ss.grid import NS2
from cwndlab.reproduction.claims import Kind

#: The stack of all its senders.
STACK = NS2

#: The CUBIC of the paper's Algorithm 2, which is its printed pseudo-code; that of Linux 2.6.22 and ns-2, which the
#: pseudo-code describes; RFC 9438's.
CUBIC, CUBIC_2_1, CUBIC_TODAY = "CUBIC (Algorithm 2)", "CUBIC (Linux 2.6.22)", "CUBIC (RFC 9438)"
CUBICS = {
    CUBIC: "cubic-ns2(rate_clamp=literal, tcp_friendliness=off)+standard/sack",
    CUBIC_2_1: "cubic-ns2+standard/sack",
    CUBIC_TODAY: "cubic+standard/sack",
}
COMPOUND, NEWRENO = "Compound", "NewReno"
OTHERS = {COMPOUND: "ctcp+standard/sack", NEWRENO: "reno+standard/newreno"}
VARIANTS = {**CUBICS, **OTHERS}
#: The paper's three, at the base assumptions.
PAPERS = (CUBIC, COMPOUND, NEWRENO)

#: The `sst` of Algorithm 2, segments.
SST = 100
#: Readings of what the paper leaves open: changes of the stack. The first is the base assumption.
_STACKS: Mapping[str, Mapping[str, Any]] = {
    "base": {},
    f"sst = {SST} for all": {"initial_ssthresh": SST},
    "receiver window 20": {"receive_window": "30000 B"},
}
BASE = "base"
READINGS = tuple(_STACKS)


def stack(variant: str, reading: str = BASE) -> dict[str, Any]:
    """Profile and stack of a variant under a reading; the printed `sst` is Algorithm 2's alone."""
    own = {"initial_ssthresh": SST} if variant == CUBIC else {}
    return {**STACK, "stack": {**STACK["stack"], **own, **_STACKS[reading]}}


def kind(cubic: str, reading: str = BASE) -> Kind:
    """A claim at the base assumptions, or a reading."""
    return "claim" if cubic == CUBIC and reading == BASE else "reading"


ASSUMPTIONS = (
    "CUBIC is Algorithm 2 as it is printed: its constants (sst = 100, c = 0.4, 0.8 of the window after a loss, W_max · "
    "0.9 while it shrinks), no TCP-friendly region, and its limit of the increase, cwnd / (min_delay · 20) · 8 ACKs "
    "per "
    "segment, with the delay in seconds: 2.5 segments/s. What cannot run as printed is repaired: K and the target as "
    "in Eqs. 2 and 3 (the root over the whole quotient, W_max for the origin), t as the time since the loss, ssthresh "
    "lowered with the window.",
    "Other readings: CUBIC 2.1 of Linux 2.6.22 and ns-2.35, which Algorithm 2 describes, with a limit of 160 "
    "segments/s "
    "and a TCP-friendly region; RFC 9438.",
    "The paper names ns-2 and none of its settings. All senders have the ns-2 stack (initial window 2, one ACK per "
    "segment) with 1500-byte packets and no limit of the receiver; NewReno recovers by NewReno, the others by SACK.",
    "The paper does not define goodput: it is (sent − retransmitted) / time, of all measured flows together.",
    'Its conclusion speaks of "inter-protocol" fairness where its abstract and § 6 have intra-protocol fairness, which '
    "is what it measures.",
    "It contradicts itself on low speeds: the abstract has CUBIC's performance degrade in low-speed networks, § 6.1 "
    "has "
    "its goodput best on 2 Mbit/s; and on reverse traffic: § 6.1 has it change all three totally, § 7 has CUBIC not "
    "affected.",
)
READINGS_ASSUMED = (
    f"Other readings: an initial ssthresh of {SST} segments for all senders, not for CUBIC alone; a receiver's window "
    "of 20 packets, ns-2's default."
)
