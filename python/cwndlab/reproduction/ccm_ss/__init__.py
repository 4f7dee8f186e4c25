"""The CCM-SS paper: Ahmad et al., IEEE Access 6, 2018, with three baselines."""

from cwndlab.reproduction.ccm_ss.figures import CONVERGENCE, FIG12A, FIG12B, FIG13A, FIG13B, TABLE4
from cwndlab.reproduction.ccm_ss.others import CLAIM18, TABLE1

EXPERIMENTS = (FIG12A, FIG12B, FIG13A, FIG13B, CONVERGENCE, TABLE1, TABLE4, CLAIM18)

__all__ = ["EXPERIMENTS"]
