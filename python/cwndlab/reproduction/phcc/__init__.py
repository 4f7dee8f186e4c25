"""The PHCC paper: Jamali, Talebi, Fotohi, "Congestion Control in High-speed Networks Using the Probabilistic Estimation
Approach"."""

from cwndlab.reproduction.phcc.shared import FIG12A, FIG12B, FIG13A, FIG13B, FIG14, FIG14A, FIG14B, TABLE1, TABLE2
from cwndlab.reproduction.phcc.single import FIG6A, FIG6B, FIG7, FIG8A, FIG8B, FIG9, FIG10, FIG11

EXPERIMENTS = (
    FIG6A,
    FIG6B,
    FIG7,
    FIG8A,
    FIG8B,
    FIG9,
    FIG10,
    FIG11,
    TABLE1,
    FIG12A,
    FIG12B,
    FIG13A,
    FIG13B,
    TABLE2,
    FIG14A,
    FIG14B,
    FIG14,
)

__all__ = ["EXPERIMENTS"]
