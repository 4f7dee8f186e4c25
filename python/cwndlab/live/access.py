"""Access to the servers of a campaign: tokens, certificates, and the names of algorithms there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from cwndlab.engine import fetch
from cwndlab.errors import Error, Fault, RunError, ScenarioError
from cwndlab.live.campaign import Access, State
from cwndlab.live.foreign import ForeignServers
from cwndlab.live.server_info import is_foreign, sender_names
from cwndlab.live.spec import UNKNOWN, CampaignSpec

#: The variable with the tokens, which then are in no history of a shell.
TOKEN = "CWNDLAB_TOKEN"


def access_of(spec: CampaignSpec, tokens: Sequence[str], trusts: Sequence[str]) -> dict[str, Access]:
    """Token and certificate of each server: one for all, or one for each. The variable separates several tokens by
    blanks."""
    tokens = tokens or os.environ.get(TOKEN, "").split()
    if not tokens and not spec.is_only_foreign:
        hint = f"set {TOKEN}, or write --token TEXT: `cwndlab serve` prints its token when it starts"
        raise ScenarioError(Fault("--token", "no token is given", hint))
    count = len(spec.servers)
    faults = [
        Fault(option, f"{len(values)} values for {count} servers", f"write {option} once, or once for each server")
        for option, values in (("--token", tokens), ("--trust", trusts))
        if len(values) not in (0, 1, count)
    ]
    if faults:
        raise ScenarioError(*faults)
    everywhere = [next(iter(tokens), "")] * count if len(tokens) < 2 else tokens
    trusted = [next(iter(trusts), None)] * count if len(trusts) < 2 else trusts
    pairs = zip(spec.servers, everywhere, trusted, strict=True)
    return {server: Access(one, trust) for server, one, trust in pairs}


def names_at(spec: CampaignSpec, server: str, access: Access, foreign: ForeignServers) -> dict[str, str]:
    """A server's own names of the algorithms; of a server of someone else, whether it has the file in ranges."""
    if is_foreign(server):
        foreign.file(server, access.trust)
        return {UNKNOWN: UNKNOWN}
    return sender_names(server, access.token, access.trust, spec.algorithms, spec.transport, fetch)


def names_of(
    state: State, access: Mapping[str, Access], message: Callable[[str], None], foreign: ForeignServers
) -> dict[str, Mapping[str, str]]:
    """The names of the algorithms at each server. A campaign begins only if every server has every algorithm. When it
    is resumed, a server that cannot be reached is requested again before its next block."""
    spec = state.question
    names: dict[str, Mapping[str, str]] = {}
    faults: list[Fault] = []
    is_invalid = False
    for server in spec.servers:
        try:
            names[server] = names_at(spec, server, access[server], foreign)
        except Error as error:
            faults += [fault for fault in error.faults if fault not in faults]
            is_invalid |= isinstance(error, ScenarioError)
            continue
        there = "the server" if len(spec.servers) == 1 else spec.label(server)
        if is_foreign(server):
            file = foreign.file(server, access[server].trust)
            message(f"{file.url}: {file.size_bytes} bytes, in ranges; sender: unknown")
            continue
        message(f"{there} sends with " + ", ".join(f"{one} for {name}" for name, one in names[server].items()))
    if faults and (is_invalid or not names or not state.slots):
        raise ScenarioError(*faults) if is_invalid else RunError(*faults)
    for fault in faults:
        message(str(fault))
    return names
