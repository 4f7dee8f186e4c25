# Throughput of TCP data at a node and drops per flow, of a trace of ns-2, in the manner of the scripts that go with it.
# awk -v node=1 -v duration=4 -f classic.awk out.tr
{
    event = $1; time = $2; from = $3; to = $4; type = $5; size = $6; flow = $8; seq = $11; id = $12
    if (NF != 12) bad++
    if (time < last) bad++
    last = time
    if (event == "r" && to == node && type == "tcp") received[flow] += size
    if (event == "d") drops[flow]++
    if (event == "+") arrived++
    if (event == "-") left++
    if (event == "-" && type == "tcp" && from == watch) queueing += time - enqueued[id]
    if (event == "+" && type == "tcp" && from == watch) enqueued[id] = time
}
END {
    for (flow in received) printf "throughput %d %.6f\n", flow, received[flow] * 8 / duration / 1e6
    for (flow in drops) printf "drops %d %d\n", flow, drops[flow]
    printf "bad %d\n", bad
    printf "queueing %.9f\n", queueing
}
