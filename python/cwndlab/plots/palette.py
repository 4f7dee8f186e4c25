"""Colours that colour-blind readers tell apart (M. Okabe, K. Ito, 2008), by position."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#666666")
DASHES = ("solid", "dash", "dot", "dashdot")


def colour(position: int) -> str:
    """The colour of the ``position``-th thing."""
    return COLOURS[position % len(COLOURS)]


def dash(position: int) -> str:
    """The line style of the ``position``-th flow."""
    return DASHES[position % len(DASHES)]
