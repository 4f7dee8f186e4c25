"""The example test cases of the BBR draft (draft-ietf-ccwg-bbr, appendix, August 2026)."""

from __future__ import annotations

from cwndlab.suites.bbr_draft import adaptation, cycle, further, spurious, startup

CASES = (*startup.CASES, *cycle.CASES, *adaptation.CASES, *spurious.CASES, *further.CASES)
