// Curves, events and phases of a run. The definitions are those of python/cwndlab/plot/series.py.

import type { Run, Table } from "../engine/protocol";

/** Flows and queues that are drawn at most. */
export const MOST_FLOWS = 8;
const MOST_LINKS = 4;
/** A queue beside the first one is drawn from this mean length on, in packets. */
const LEAST_QUEUE = 0.1;
/** Rates are means over intervals of at least this part of a run. */
const RATE_WINDOWS = 150;

export interface Curve {
  label: string;
  /** Position in the palette. */
  position: number;
  values: (number | null)[];
}

export interface Panel {
  key: "cwnd" | "goodput" | "rtt" | "queue";
  title: string;
  unit: string;
  times: number[];
  curves: Curve[];
}

export interface Mark {
  time: number;
  flow: number;
  kind: string;
  cause: string;
  cwnd: number;
}

export type Phase = "slow start" | "congestion avoidance" | "recovery";

export interface Span {
  flow: number;
  phase: Phase;
  from: number;
  to: number;
}

export interface Picture {
  end: number;
  names: string[];
  panels: Panel[];
  marks: Mark[];
  phases: Span[];
}

type Numbers = Float64Array;

function numbers(table: Table | undefined, column: string): Numbers {
  return table?.columns[column]?.numbers ?? new Float64Array();
}

function texts(table: Table | undefined, column: string): string[] {
  return table?.columns[column]?.texts ?? [];
}

/** The rows of each thing (a flow, a link), in order of time. */
function rowsBy(table: Table | undefined, column: string): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const [row, thing] of numbers(table, column).entries()) {
    const rows = found.get(thing);
    if (rows) rows.push(row);
    else found.set(thing, [row]);
  }
  return found;
}

/** A value per time, null where it is missing. */
function column(times: Map<number, number>, at: Numbers, rows: number[], value: (row: number) => number): (number | null)[] {
  const values = new Array<number | null>(times.size).fill(null);
  for (const row of rows) {
    const found = value(row);
    if (!Number.isNaN(found)) values[times.get(at[row]!)!] = found;
  }
  return values;
}

function indexOf(at: Numbers): Map<number, number> {
  return new Map([...new Set(at)].sort((a, b) => a - b).map((time, place) => [time, place]));
}

interface Samples {
  table: Table | undefined;
  at: Numbers;
  times: Map<number, number>;
  rows: Map<number, number[]>;
}

function samples(table: Table | undefined, thing: string): Samples {
  const at = numbers(table, "time_ns");
  return { table, at, times: indexOf(at), rows: rowsBy(table, thing) };
}

/** Differences of a counter over windows of `span` ns: per second, or per unit of a second counter. */
function rate(one: Samples, rows: number[], span: number, of: string, per?: string): (number | null)[] {
  const counter = numbers(one.table, of);
  const other = per ? numbers(one.table, per) : undefined;
  let first = 0;
  const values = new Map<number, number>();
  for (const row of rows) {
    while (rows[first + 1]! < row && one.at[row]! - one.at[rows[first + 1]!]! >= span) first += 1;
    const from = rows[first]!;
    if (row === from || one.at[row]! - one.at[from]! < span * 0.5) continue;
    const below = other ? other[row]! - other[from]! : (one.at[row]! - one.at[from]!) / 1e9;
    if (below > 0) values.set(row, (counter[row]! - counter[from]!) / below);
  }
  return column(one.times, one.at, rows, (row) => values.get(row) ?? Number.NaN);
}

function seconds(one: Samples): number[] {
  return [...one.times.keys()].map((time) => time / 1e9);
}

function flowPanels(run: Run, names: string[], span: number): Panel[] {
  const one = samples(run.tables.samples, "flow");
  const mss = numbers(run.tables.flows, "mss_bytes");
  const cwnd = numbers(one.table, "cwnd_bytes");
  const flows = [...one.rows.keys()].filter((flow) => flow < MOST_FLOWS);
  const curves = (values: (rows: number[], flow: number) => (number | null)[]): Curve[] =>
    flows.map((flow) => ({ label: names[flow]!, position: flow, values: values(one.rows.get(flow)!, flow) }));
  const scaled = (values: (number | null)[], factor: number): (number | null)[] =>
    values.map((value) => (value === null ? null : value * factor));
  const times = seconds(one);
  const windows = curves((rows, flow) => column(one.times, one.at, rows, (row) => cwnd[row]! / mss[flow]!));
  const goodput = curves((rows) => scaled(rate(one, rows, span, "delivered_bytes"), 8e-6));
  const rtt = curves((rows) => scaled(rate(one, rows, span, "rtt_sum_ns", "rtt_count"), 1e-6));
  return [
    { key: "cwnd", title: "Congestion window", unit: "segments", times, curves: windows },
    { key: "goodput", title: "Goodput (data delivered in order)", unit: "Mbit/s", times, curves: goodput },
    { key: "rtt", title: "RTT", unit: "ms", times, curves: rtt },
  ];
}

function queuePanel(run: Run): Panel {
  const one = samples(run.tables.link_samples, "link");
  const names = texts(run.tables.links, "name");
  const mean = numbers(run.tables.links, "mean_queue_packets");
  const byLength = [...one.rows.keys()].sort((a, b) => mean[b]! - mean[a]! || a - b);
  const links = byLength.filter((link, place) => place === 0 || mean[link]! >= LEAST_QUEUE).slice(0, MOST_LINKS);
  const length = numbers(one.table, "queue_packets");
  const curves = links.map((link, position) => ({
    label: names[link]!,
    position,
    values: column(one.times, one.at, one.rows.get(link)!, (row) => length[row]!),
  }));
  return { key: "queue", title: "Queues", unit: "packets", times: seconds(one), curves };
}

/** Events that end slow start. */
const ENDS = new Set(["slow-start-exit", "recovery", "timeout", "ecn"]);

/** Phases from events: the algorithm's own view of a moment is that of the panel "Why". */
export function phasesOf(marks: Mark[], flow: number, end: number): Span[] {
  const spans: Span[] = [];
  let phase: Phase | undefined;
  let from = 0;
  const change = (next: Phase | undefined, time: number): void => {
    if (phase === next) return;
    if (phase && time > from) spans.push({ flow, phase, from, to: time });
    phase = next;
    from = time;
  };
  for (const mark of marks) {
    if (mark.flow !== flow) continue;
    if (mark.kind === "established") change("slow start", mark.time);
    else if (mark.kind === "recovery") change("recovery", mark.time);
    else if (mark.kind === "timeout") change("slow start", mark.time);
    else if (mark.kind === "recovered") change(phase === "recovery" ? "congestion avoidance" : phase, mark.time);
    else if (mark.kind === "close") change(undefined, mark.time);
    else if (ENDS.has(mark.kind) && phase === "slow start") change("congestion avoidance", mark.time);
  }
  change(undefined, end);
  return spans;
}

function marksOf(run: Run): Mark[] {
  const table = run.tables.events;
  const mss = numbers(run.tables.flows, "mss_bytes");
  const [kind, cause] = [texts(table, "kind"), texts(table, "cause")];
  const [flow, before] = [numbers(table, "flow"), numbers(table, "cwnd_before_bytes")];
  return [...numbers(table, "time_ns")].map((time, row) => ({
    time: time / 1e9,
    flow: flow[row]!,
    kind: kind[row]!,
    cause: cause[row]!,
    cwnd: before[row]! / mss[flow[row]!]!,
  }));
}

/** Everything that is drawn of a run. */
export function picture(run: Run): Picture {
  const end = numbers(run.tables.samples, "time_ns").at(-1) ?? 0;
  const names = texts(run.tables.flows, "name");
  const marks = marksOf(run);
  const shown = Math.min(names.length, MOST_FLOWS);
  const phases = Array.from({ length: shown }, (_, flow) => phasesOf(marks, flow, end / 1e9)).flat();
  return {
    end: end / 1e9,
    names,
    panels: [...flowPanels(run, names, end / RATE_WINDOWS), queuePanel(run)],
    marks: marks.filter((mark) => mark.flow < MOST_FLOWS),
    phases,
  };
}
