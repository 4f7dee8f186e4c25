// Totals of the run as tables, and in a sentence for a screen reader.

import type { Run, Table } from "../engine/protocol";
import { digits } from "../scenario/quantities";
import { table } from "./dom";

/** Rows that are shown at most. */
const MOST = 12;

function cell(from: Table | undefined, column: string, row: number): number {
  return from?.columns[column]?.numbers?.[row] ?? Number.NaN;
}

function shown(value: number): string {
  return Number.isNaN(value) ? "–" : digits(value);
}

function flowRows(run: Run): string[][] {
  const flows = run.tables.flows;
  const end = run.tables.samples?.columns.time_ns?.numbers?.at(-1) ?? Number.NaN;
  return (flows?.columns.name?.texts ?? []).slice(0, MOST).map((name, row) => {
    const start = cell(flows, "start_ns", row);
    const close = cell(flows, "end_ns", row);
    const seconds = ((Number.isNaN(close) ? end : close) - start) / 1e9;
    const goodput = (cell(flows, "delivered_bytes", row) * 8e-6) / seconds;
    return [
      name,
      flows?.columns.algorithm?.texts?.[row] ?? "",
      shown(goodput),
      shown(cell(flows, "mean_rtt_ns", row) / 1e6),
      shown(cell(flows, "retransmitted_packets", row)),
      shown(cell(flows, "timeouts", row)),
    ];
  });
}

function linkRows(run: Run): string[][] {
  const links = run.tables.links;
  const names = links?.columns.name?.texts ?? [];
  const rows = names.map((name, row) => ({ name, row, mean: cell(links, "mean_queue_packets", row) }));
  const busy = rows.filter((one) => one.row === 0 || one.mean >= 0.1).slice(0, MOST);
  return busy.map(({ name, row, mean }) => [
    name,
    `${shown(100 * cell(links, "utilisation", row))} %`,
    shown(mean),
    shown(cell(links, "dropped_packets", row)),
    shown(cell(links, "marked_packets", row)),
  ]);
}

/** The tables of flows and links. */
export function summary(run: Run): HTMLElement[] {
  const flows = ["flow", "algorithm", "Mbit/s", "mean RTT, ms", "retransmitted", "timeouts"];
  const links = ["link", "utilisation", "mean queue", "dropped", "marked"];
  return [table("Flows", flows, flowRows(run)), table("Links", links, linkRows(run))];
}

/** The run in a sentence. */
export function sentence(run: Run): string {
  const flows = flowRows(run).map(([name, , goodput, rtt]) => `${name} ${goodput} Mbit/s at an RTT of ${rtt} ms`);
  return `Run finished. ${flows.join("; ")}.`;
}
