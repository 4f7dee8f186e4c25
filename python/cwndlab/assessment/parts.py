"""The environments beside the simulator in which selected cells of a dossier may run, as a dossier names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Environment:
    """The names of an environment in a dossier."""

    name: str
    """In columns."""
    argument: str
    """Of `cwndlab.assess`; the command has an option of this name."""
    sender: str
    """What sends there."""
    absent: str
    """A sentence, without its period, if nothing ran there."""
    where: str
    """Where the algorithm is, in a title."""
    ran: str
    """What was run, a template of ``cells``, ``runs`` and the values of the part."""
    heading: str
    """Of its section."""
    about: str
    """What its findings are of."""


#: By the keys in the contents of a dossier.
PARTS: Mapping[str, Environment] = {
    "emulated": Environment(
        name="emulated",
        argument="emulate",
        sender="a kernel",
        absent="Nothing was emulated",
        where="between real kernels",
        ran="Emulated: {cells} cells × {runs} runs of each algorithm between kernels, Linux {kernel}",
        heading="Emulated",
        about=(
            "The algorithm of the kernel, CUBIC and Reno of the kernel in the same place of the same cells, which are "
            "shortened and few: the emulated finding is not one on all cells of its row. Beside it is the simulator's "
            "finding on the same cells, by its own code of the algorithms."
        ),
    ),
    "linux": Environment(
        name="Linux",
        argument="linux",
        sender="a kernel",
        absent="Nothing ran between kernels in virtual time",
        where="between kernels in virtual time",
        ran="Linux in virtual time: {cells} cells × {runs} runs of each algorithm between kernels, Linux {kernel}",
        heading="Linux in virtual time",
        about=(
            "The algorithm of the kernel, CUBIC and Reno of the kernel in the same place of the same cells, which are "
            "shortened and few: the finding is not one on all cells of its row. Rivals are kernels, too, where a "
            "kernel has them. Links and queues are the simulator's. Beside it is the simulator's finding on the same "
            "cells, by its own code of the algorithms."
        ),
    ),
    "quic": Environment(
        name="QUIC",
        argument="quic",
        sender="a QUIC stack",
        absent="Nothing ran in a QUIC stack",
        where="in a QUIC stack",
        ran="In a QUIC stack: {cells} cells × {runs} runs of each algorithm in quinn, in virtual time",
        heading="In a QUIC stack",
        about=(
            "The algorithm, CUBIC and Reno of this library as congestion controls of quinn in the same place of the "
            "same cells, which are shortened and few: the finding is not one on all cells of its row. The transport is "
            "quinn's: loss detection, ACKs, pacing and timers. Beside it is the simulator's finding on the same cells, "
            "over its own TCP."
        ),
    ),
}
