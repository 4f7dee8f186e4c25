"""Published experiments: each runs the published set-up and holds the published claim against what is measured.

A verdict is a measurement: `reproduced`, `direction only`, `not reproduced` or `not testable`, computed from the 95 %
interval; nothing is tuned until a claim comes true.
"""

from cwndlab.reproduce.catalogue import EXPERIMENTS, find, listing
from cwndlab.reproduce.run import COLUMNS, reproduce

__all__ = ["COLUMNS", "EXPERIMENTS", "find", "listing", "reproduce"]
