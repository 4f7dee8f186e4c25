"""Attacks: a search for the events on a path that harm an algorithm, or others beside it, most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import lazy as _lazy

if TYPE_CHECKING:
    from cwndlab.study.attack import harms as harms
    from cwndlab.study.attack import result as result
    from cwndlab.study.attack import search as search
    from cwndlab.study.attack import world as world
    from cwndlab.study.attack.result import AttackResult, Confirmation
    from cwndlab.study.attack.search import attack
    from cwndlab.study.attack.world import Event

__all__ = ["AttackResult", "Confirmation", "Event", "attack"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy.attach(
        __name__,
        {"result": ("AttackResult", "Confirmation"), "search": ("attack",), "world": ("Event",)},
        public=__all__,
    )
