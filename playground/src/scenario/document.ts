// The scenario's document: plain JSON, changed by paths such as `dumbbell.bottleneck.rate`.

import type { Flow, Link, Scenario } from "../generated/scenario";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Table = { [name: string]: Json };
export type Path = (string | number)[];

/** Names of fields as the JSON Schema has them: a path that the form spells wrongly does not compile. */
export type ScenarioField = keyof Scenario;
export type FlowField = keyof Flow;
export type LinkField = keyof Link;

export function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Tables and lists within each other that a document may have, as in the engine's reader of JSON. */
const MOST_LEVELS = 100;

/** Whether tables and lists are nested too deeply for the engine, and for functions that recurse over a document. */
export function isTooDeep(document: unknown): boolean {
  let level = [document];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) return true;
    level = level.flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : []));
  }
  return false;
}

/** The document's title; empty where it is no text. */
export function titleOf(document: Table): string {
  return typeof document.title === "string" ? document.title : "";
}

/** The number of flows of the run: a table may stand for several. */
export function countFlows(document: Table): number {
  return flows(document).reduce((sum, flow) => sum + (typeof flow.count === "number" ? flow.count : 1), 0);
}

/** The value at a path; undefined where there is none. */
export function get(document: Json | undefined, path: Path): Json | undefined {
  let value: Json | undefined = document;
  for (const step of path) {
    if (Array.isArray(value) && typeof step === "number") value = value[step];
    else if (isTable(value) && typeof step === "string") value = value[step];
    else return undefined;
  }
  return value;
}

/** Sets the value at a path, or removes it where the value is undefined. Missing tables are made. */
export function set(document: Table, path: Path, value: Json | undefined): void {
  let place: Table | Json[] = document;
  for (const [at, step] of path.slice(0, -1).entries()) {
    const next: Json | undefined = (place as Table)[step as string];
    if (typeof next === "object" && next !== null) {
      place = next;
    } else {
      const made: Table | Json[] = typeof path[at + 1] === "number" ? [] : {};
      (place as Table)[step as string] = made;
      place = made;
    }
  }
  const last = path.at(-1)!;
  if (value !== undefined) (place as Table)[last as string] = value;
  else if (Array.isArray(place)) place.splice(last as number, 1);
  else delete place[last];
}

/** The path as errors and `--set` write it: `flow[1].rtt`. */
export function spell(path: Path): string {
  return path.map((step, at) => (typeof step === "number" ? `[${step}]` : at ? `.${step}` : step)).join("");
}

export function flows(document: Table): Table[] {
  return Array.isArray(document.flow) ? document.flow.filter(isTable) : [];
}

/** Where the path's main link is: undefined for networks that only the text describes. */
export function mainLink(document: Table): Path | undefined {
  return isTable(document.dumbbell) ? ["dumbbell", "bottleneck"] : undefined;
}
