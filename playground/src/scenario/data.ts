// What the form is made of: the engine's catalogue of algorithms, and what tools/playground_data.py takes from the package,
// fields of tables and presets.

import type { Json, Table } from "./document";

export interface Parameter {
  name: string;
  unit: string;
  default: number | string;
  low: number | null;
  high: number | null;
  words: string[];
  doc: string;
}

export interface Entry {
  name: string;
  title: string;
  kind: "growth" | "slow-start" | "recovery" | "whole" | "router" | "mechanism";
  source: string;
  year: number;
  summary: string;
  /** The slow start that a growth rule has by default. */
  companion: string | null;
  parameters: Parameter[];
}

/** A field of a table of the scenario. */
export interface Field {
  name: string;
  kind: string;
  accepts: string;
  default: string | number | boolean | null;
  absent: string | null;
  doc: string;
  required: boolean;
}

/** A table that a word selects: a queue discipline, a loss model, a workload. */
export interface Choice {
  name: string;
  doc: string;
  fields: Field[];
  /** Of a workload: the fields of a flow with which the form begins; null where a flow of the form cannot have it. */
  begins?: { transport?: string; workload: Record<string, Json> } | null;
}

export interface Preset {
  id: string;
  group: string;
  title: string;
  about: string;
  document: Table;
  seed: number;
}

/** The engine's answer to `catalogue`. */
export interface Catalogue {
  version: string;
  algorithms: Entry[];
  aliases: Record<string, string>;
}

/** The content of data.js. */
export interface Tables {
  tables: Record<string, Field[]>;
  choices: Record<"queue" | "loss" | "workload", Choice[]>;
  /** Names of the synthetic traces that a line can follow. */
  traces: string[];
  presets: Preset[];
}

export type Data = Catalogue & Tables;

/** The words that a field accepts; none where it accepts something else. */
export function words(field: Field): string[] {
  return /^"[^"]*"(, "[^"]*")*$/.test(field.accepts) ? [...field.accepts.matchAll(/"([^"]*)"/g)].map((one) => one[1]!) : [];
}
