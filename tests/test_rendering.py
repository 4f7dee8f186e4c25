"""Tables of strings in their output formats."""

from __future__ import annotations

import pytest
from cwndlab.study.rendering import Table


@pytest.mark.parametrize(
    ("cell", "latex"),
    [("cubic>reno", "cubic$>$reno"), ("a|b", r"a\textbar{}b"), ("<5 %", r"$<$5 \%"), ("x_1", r"x\_1")],
)
def test_signs_of_latex_are_set_as_they_are(cell: str, latex: str) -> None:
    """Without T1 encoding, `<`, `>` and `|` as letters are set as other signs: ¡, ¿ and a dash."""
    table = Table("means", [cell, "goodput"], [[cell, "1"]])
    lines = table.to("latex").splitlines()
    assert f"{latex} & goodput \\\\" in lines
    assert f"{latex} & 1 \\\\" in lines
