// What the parts of the form share: the document, bindings to its paths, and controls of declared tables.

import type { Data, Field } from "../scenario/data";
import { get, type Json, type Path, type Table } from "../scenario/document";
import { type Binding, choice, declared, type Option } from "./controls";
import { make } from "./dom";

/** What the form needs of the page. */
export interface Editor {
  data: Data;
  document: Table;
  seed: number;
  /** Sets a value; `anew` where fields come or go with it. */
  change(path: Path, value: Json | undefined, anew?: boolean): void;
  /** `anew`: makes the form anew, where the field does not show this seed. */
  setSeed(seed: number, anew?: boolean): void;
}

/** The binding of a path. */
export function bind(editor: Editor, path: Path, anew = false): Binding {
  return { value: get(editor.document, path), change: (value) => editor.change(path, value, anew) };
}

/** Controls of the fields of a table that a line can show, in a fold. */
export function fold(editor: Editor, title: string, fields: Field[], path: Path, except: string[] = []): HTMLElement | undefined {
  const rows = fields
    .filter((field) => !except.includes(field.name))
    .map((field) => declared(field, bind(editor, [...path, field.name])))
    .filter((row) => row !== undefined);
  return rows.length ? make("details", {}, make("summary", {}, title), ...rows) : undefined;
}

/** The choice of a table by its word, such as a queue discipline, and the fields of that table. */
export function chosen(
  editor: Editor,
  label: string,
  kind: "queue" | "loss" | "workload",
  path: Path,
  none: Option | undefined,
  tableOf: (word: string) => Json | undefined,
): (HTMLElement | undefined)[] {
  const present = get(editor.document, [...path, "kind"]);
  const offered = editor.data.choices[kind].filter((one) => one.begins !== null || one.name === present);
  const options = offered.map((one) => ({ value: one.name, label: one.name, title: one.doc }));
  const binding: Binding = {
    value: typeof present === "string" ? present : undefined,
    change: (word) => editor.change(path, tableOf(typeof word === "string" ? word : ""), true),
  };
  const table = editor.data.choices[kind].find((one) => one.name === present);
  return [
    choice(label, table?.doc ?? "", [["", [...(none ? [none] : []), ...options]]], binding),
    table && fold(editor, `Fields of ${table.name}`, table.fields, path, ["capacity", "ecn"]),
  ];
}
