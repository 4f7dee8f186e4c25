// Messages between page and worker. The engine's own requests and answers are those of crates/bindings/wasm/src/service.rs.

import type { Catalogue } from "../scenario/data";

/** A field that the engine rejects: its path, the message, a remedy (may be empty). */
export interface Fault {
  where: string;
  what: string;
  hint: string;
}

/** A column of a table. Numbers are converted to binary64, a null to NaN; text is kept. */
export interface Column {
  name: string;
  unit: string;
  numbers?: Float64Array;
  texts?: string[];
}

export interface Table {
  name: string;
  rows: number;
  columns: Record<string, Column>;
}

/** A finished run. */
export interface Run {
  hash: string;
  scenario_hash: string;
  notes: string[];
  events: number;
  packets: number;
  /** Names and numbers of rows of all tables, of which `tables` has those that are drawn. */
  sizes: Record<string, number>;
  tables: Record<string, Table>;
  /** Time in the engine, ms. */
  engine_ms: number;
  /** Memory of the module after the run, bytes. */
  memory_bytes: number;
}

export interface Checked {
  document: unknown;
  toml: string;
  scenario_hash: string;
  notes: string[];
}

/** What an algorithm shows of itself before or after an event. */
export interface Snapshot {
  cwnd_bytes: number;
  pacing_rate_bps: number | null;
  ssthresh_bytes: number | "unlimited" | null;
  phase: string | null;
  values: Record<string, number | string>;
}

/** A method that handled an event, with the equations that its comments name: line, comment. */
export interface Place {
  entry: string;
  method: string;
  file: string;
  line: number;
  references: [number, string][];
}

export interface Moment {
  number: number;
  time_ns: number;
  event: string;
  fields: Record<string, unknown>;
  before: Snapshot;
  after: Snapshot;
  places: Place[];
}

export type Report = Record<string, number | null>;

/** The event that an algorithm received at a time. */
export interface Look {
  algorithm: string;
  entry: string;
  moment: Moment | null;
  transport?: { before: Report | null; after: Report | null };
}

/** A request to the worker. `scenario` is JSON, or TOML where `format` says so. */
export type Request =
  | { do: "catalogue" }
  | { do: "run"; scenario: string; seed: number }
  | { do: "check"; scenario: string; format: "json" | "toml" }
  | { do: "look"; scenario: string; seed: number; flow: number; at_ns: number }
  | { do: "csv"; scenario: string; seed: number; table: string };

export type Answer<R extends Request> = R extends { do: "run" }
  ? Run
  : R extends { do: "check" }
    ? Checked
    : R extends { do: "look" }
      ? Look
      : R extends { do: "catalogue" }
        ? Catalogue
        : Blob;

export type ToWorker = { start: WebAssembly.Module } | { id: number; request: Request };

export type FromWorker =
  | { ready: true }
  | { id: number; answer: unknown }
  | { id: number; faults: Fault[]; broken: boolean };
