"""Colours that colour-blind readers tell apart (M. Okabe, K. Ito, 2008), by position."""

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#8C6D31",
    "#808080",
    # Four more of P. Tol's "muted" scheme (SRON/EPS/TN/09-002, 2021), for charts of a dozen curves.
    "#332288",
    "#882255",
    "#117733",
    "#AA4499",
)


def colour(position: int) -> str:
    """The colour of the ``position``-th thing."""
    return COLOURS[position % len(COLOURS)]
