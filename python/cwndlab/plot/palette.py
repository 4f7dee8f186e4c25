"""Colours that colour-blind readers can distinguish (M. Okabe, K. Ito, 2008), by position."""

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#8C6D31",
    "#808080",
    # Four more from P. Tol's "muted" scheme (SRON/EPS/TN/09-002, 2021), for charts of a dozen curves.
    "#332288",
    "#882255",
    "#117733",
    "#AA4499",
)


#: Colours of the phases of a flow, used by no line or bar: P. Tol's scheme "light" (the same report).
PHASE_COLOURS = ("#BBCC33", "#EEDD88", "#FFAABB")
#: After the last colour, all are mixed with these, in these proportions: lighter, then darker.
_MIXED = ((255, 0.0), (255, 0.5), (0, 0.4))


def colour(position: int) -> str:
    """The colour of a position; a negative position is that of a phase. 36 positions have different colours.

    >>> colour(0), colour(12), colour(-1)
    ('#0072B2', '#80b9d9', '#BBCC33')
    """
    if position < 0:
        return PHASE_COLOURS[-position - 1]
    base = COLOURS[position % len(COLOURS)]
    ink, part = _MIXED[position // len(COLOURS) % len(_MIXED)]
    if not part:
        return base
    parts = (int(base[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{int(one + (ink - one) * part + 0.5):02x}" for one in parts)


#: All colours of positions, in their order.
ALL_COLOURS = tuple(colour(position) for position in range(len(COLOURS) * len(_MIXED)))
