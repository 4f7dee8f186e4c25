"""Stack profiles: what the engine declares, and the page that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import cwndlab
import pytest
from cwndlab.scenario import stacks

ROOT = Path(__file__).parents[1]


def test_the_page_is_the_engines() -> None:
    """`python tools/refresh_docs.py stack` writes it anew."""
    page = (ROOT / "docs" / "stack.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- output: stack -->\n(.*?)<!-- end -->", page, re.DOTALL)
    assert block is not None
    assert block[1].strip() == stacks.markdown()


def test_profiles_have_their_sources_values() -> None:
    """Linux' TCP_RTO_MIN (HZ / 5), RFC 6298 (2.4), IW10 of RFC 6928, ns-2's windowInit_ 2, TCP_DELACK_MIN (HZ / 25)."""
    values = {field.name: field.values for field in stacks.fields()}
    assert list(values["mss"]) == stacks.profiles() == ["linux", "rfc", "ns2", "windows-10-20h1"]
    assert (values["min_rto"]["linux"], values["min_rto"]["rfc"]) == ("200 ms", "1 s")
    assert (values["initial_window"]["linux"], values["initial_window"]["ns2"]) == ("10", "2")
    assert values["ack_delay"]["linux"] == "40 ms"
    assert values["mss"]["linux"] == "1448 B"


@pytest.mark.parametrize("field", stacks.fields(), ids=lambda field: str(field.name))
def test_every_field_takes_a_value_that_it_says(field: stacks.Field) -> None:
    """A profile's value may be written into a scenario; where it is none, the least that the field accepts."""
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="5 ms"))
    base = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=[cwndlab.Flow("reno", rtt="40 ms")])
    value = field.values["linux"]
    if value == "none":
        value = {"initial_ssthresh": "2", "read_rate": "1 Mbit/s"}.get(field.name, value)
    plain: object = {"true": True, "false": False}.get(value, int(value) if value.isdecimal() else value)
    assert base.with_({f"flow[0].stack.{field.name}": plain}).flows[0].stack == {field.name: plain}
