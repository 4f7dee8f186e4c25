#!/bin/sh
# Writes the rows of known-answers/ns3-lte/cells.csv to standard output, with ns-3 3.37 (lte-cell.cc). Two minutes.
set -eu
program=$(realpath "${1:-build/lte-cell-ns3}")
cd "$(mktemp -d)" # ns-3 writes its traces here
echo scheduler,resource_blocks,users,distance_m,sinr_db,throughput_bps
for blocks in 25 50 100; do
    for distances in 500 5000 1000,3000,6000 700,4000,7700 2000,2000,2000 \
        800,1600,2400,3600,5200,7700 500,500,2500,2500,7000,7000 1500,1750,1900,4100,4300,4500; do
        for scheduler in PfFfMacScheduler RrFfMacScheduler; do
            "$program" --scheduler=$scheduler --blocks=$blocks --distances=$distances
        done
    done
    "$program" --scheduler=TdMtFfMacScheduler --blocks=$blocks --distances=1000,3000,6000
done
