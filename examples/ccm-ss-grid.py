"""The complete grid of the CCM-SS paper (Ahmad et al., IEEE Access 6, 2018, Table 3): 9,600 runs of 600 s.

5 bandwidths × 10 buffers × 32 RTT pairs × 2 modules × 3 repetitions, with the stack of profile `ns2`.

    cwndlab sweep examples/ccm-ss-grid.py --dry-run
    cwndlab sweep examples/ccm-ss-grid.py --set 'duration=60 s' --out out/ccm-ss-grid

Flow 1 starts at 1 s, flow 2 at 2 s. Buffers in "percent" of BDP are fractions of it, as in the Hamilton suite that the
paper cites. The bottleneck's delay is a quarter of the shorter RTT, because the paper gives none.
"""

from cwndlab import Access, DropTail, Dumbbell, Flow, Link, Scenario, Sweep

# The RTT of flow 1 and the RTTs of flow 2 in each set, ms.
SETS = {
    "long, different": (100, range(50, 191, 20)),
    "long, similar": (190, range(50, 191, 20)),
    "short, different": (50, range(2, 17, 2)),
    "short, similar": (16, range(2, 17, 2)),
}
PAIRS = [(name, first, second) for name, (first, seconds) in SETS.items() for second in seconds]
BANDWIDTHS = [50, 100, 150, 200, 250]

NS2 = {"profile": "ns2", "stack": {"initial_window": 2, "ack_every": 1}}

base = Scenario(
    title="CCM-SS paper",
    duration="600 s",
    start_jitter="rtt",
    dumbbell=Dumbbell(
        Link(rate="50 Mbps", delay="1 ms", queue=DropTail("1 bdp")),
        access=Access(rate="100 Mbps"),
    ),
    flows=[
        Flow("cubic-ns2+hystart/sack", rtt="100 ms", start="1 s", **NS2),
        Flow("cubic-ns2+hystart/sack", rtt="100 ms", start="2 s", **NS2),
    ],
)

sweep = Sweep(
    title="CCM-SS: the grid of its Table 3",
    base=base,
    algorithms=["cubic-ns2+hystart/sack", "cubic-ns2+ccm-ss/sack"],
    product={
        "dumbbell.bottleneck.queue.capacity": [
            f"{part} bdp" for part in (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.5, 1.0, 1.5, 2.0)
        ]
    },
    zip=[
        {
            "dumbbell.bottleneck.rate": [f"{rate} Mbps" for rate in BANDWIDTHS],
            "dumbbell.access.rate": [f"{2 * rate} Mbps" for rate in BANDWIDTHS],
        },
        {
            "@set": [name for name, _, _ in PAIRS],
            "flow[0].rtt": [f"{first} ms" for _, first, _ in PAIRS],
            "flow[1].rtt": [f"{second} ms" for _, _, second in PAIRS],
            "dumbbell.bottleneck.delay": [f"{min(first, second) / 4} ms" for _, first, second in PAIRS],
        },
    ],
    seeds=[1, 2, 3],
)
