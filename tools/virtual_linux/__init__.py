"""Linux itself in virtual time, as a reference for the simulator: `python -m virtual_linux`.

User-mode Linux (``ARCH=um``) is the Linux kernel as an ordinary program. With ``time-travel=inf-cpu`` its clock jumps
to the next event whenever it is idle, so that computing takes no time: the kernel's TCP without a wall clock, without
root, and without disturbance by the load of the machine. docs/linux.md describes how it is built, docs/validity.md what
is compared and found.

- `virtual_linux.paths`: random paths by seed, and their scenarios in the simulator;
- `virtual_linux.runs`: runs of kernels in parallel, one JSON line for each transfer;
- `virtual_linux.comparison`: the simulator on the same paths, shares within tolerance and the largest deviations.
"""
