"""What the CUBIC study compares."""

from __future__ import annotations

from cwndlab.reproduce.ccm_ss.grid import NS2

#: The stack of all its senders.
STACK = NS2

#: The CUBIC of the paper's Algorithm 2, and today's; what they are held against.
CUBICS = {"CUBIC (Algorithm 2)": "cubic-ns2+standard/sack", "CUBIC (RFC 9438)": "cubic+standard/sack"}
COMPOUND, NEWRENO = "Compound", "NewReno"
VARIANTS = {**CUBICS, COMPOUND: "ctcp+standard/sack", NEWRENO: "reno+standard/newreno"}

ASSUMPTIONS = (
    "The paper names neither simulator settings nor CUBIC's constants: shown are its Algorithm 2, which is CUBIC "
    "2.1 of "
    "Linux 2.6.22 and ns-2.35 once its misprints are repaired, and RFC 9438.",
    "All senders have the ns-2 stack (initial window 2, one ACK per segment, 1500-byte packets) without a limit of the "
    "receiver; NewReno recovers by NewReno, the others by SACK.",
)
