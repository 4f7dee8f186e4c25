// The worker: runs the engine, and sends what is drawn.

import { Module, Refusal, type TablePlace } from "./module";
import type { FromWorker, Request, Run, Table, ToWorker } from "./protocol";

/** Tables that are drawn or listed; the others stay in the engine until a file of them is asked for. */
const DRAWN = ["flows", "links", "samples", "link_samples", "events"];

interface Kept {
  key: string;
  tables: TablePlace[];
}

let module: Module | undefined;
let kept: Kept | undefined;

function post(message: FromWorker, transfer: Transferable[] = []): void {
  (self as unknown as Worker).postMessage(message, transfer);
}

function keyOf(request: { scenario: string; seed: number }): string {
  return `${request.seed} ${request.scenario}`;
}

function run(engine: Module, request: Extract<Request, { do: "run" }>): Run {
  const begin = performance.now();
  const answer = engine.call(request) as unknown as Run & { tables: TablePlace[] };
  const engine_ms = performance.now() - begin;
  const places = answer.tables as TablePlace[];
  kept = { key: keyOf(request), tables: places };
  const tables: Record<string, Table> = {};
  for (const place of places) if (DRAWN.includes(place.name)) tables[place.name] = engine.table(place);
  const sizes = Object.fromEntries(places.map((place) => [place.name, place.rows]));
  return { ...answer, tables, sizes, engine_ms, memory_bytes: engine.memoryBytes };
}

/** A table as CSV (RFC 4180), with a header line. */
function csv(engine: Module, request: Extract<Request, { do: "csv" }>): Blob {
  if (kept?.key !== keyOf(request)) run(engine, { do: "run", scenario: request.scenario, seed: request.seed });
  const place = kept!.tables.find((one) => one.name === request.table);
  if (!place) throw new Refusal([{ where: request.table, what: "the run has no such table", hint: "" }]);
  const parts = [`${place.columns.map((column) => column.name).join(",")}\r\n`];
  for (const cells of engine.cells(place)) {
    parts.push(`${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")}\r\n`);
  }
  return new Blob(parts, { type: "text/csv" });
}

function answer(engine: Module, request: Request): unknown {
  switch (request.do) {
    case "run":
      return run(engine, request);
    case "csv":
      return csv(engine, request);
    default:
      kept = undefined; // the engine frees the tables of the last run
      return engine.call(request);
  }
}

function columnsOf(found: unknown): Transferable[] {
  const tables = (found as Partial<Run>).tables ?? {};
  return Object.values(tables).flatMap((table) =>
    Object.values(table.columns).flatMap((column) => (column.numbers ? [column.numbers.buffer as ArrayBuffer] : [])),
  );
}

self.onmessage = async ({ data }: MessageEvent<ToWorker>) => {
  if ("start" in data) {
    module = await Module.make(data.start);
    post({ ready: true });
    return;
  }
  try {
    const found = answer(module!, data.request);
    post({ id: data.id, answer: found }, columnsOf(found));
  } catch (error) {
    const refusal = error instanceof Refusal ? error : new Refusal([{ where: "page", what: String(error), hint: "" }]);
    post({ id: data.id, faults: refusal.faults, broken: refusal.broken });
  }
};
