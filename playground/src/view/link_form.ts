// The path's link: line, delay, queue, loss.

import { get, type Json, type LinkField, type Path } from "../scenario/document";
import { parseBdp } from "../scenario/quantities";
import { BDP, choice, flag, number, quantity, slider, text } from "./controls";
import { make } from "./dom";
import { bind, chosen, type Editor, fold } from "./editor";

/** What a discipline needs beside its word. */
const REQUIRED: Record<string, Record<string, Json>> = { "step-ecn": { mark_above: 20 } };

function field(link: Path, name: LinkField): Path {
  return [...link, name];
}

/** The discipline of a queue, its capacity, and whether it marks. */
export function queueForm(editor: Editor, path: Path): HTMLElement[] {
  const capacity = get(editor.document, [...path, "capacity"]);
  const kind = get(editor.document, [...path, "kind"]);
  const table = editor.data.choices.queue.find((one) => one.name === (kind ?? "droptail"));
  const fallback = table?.fields.find((field) => field.name === "capacity")?.default ?? "1 bdp";
  const isBdp = parseBdp(capacity ?? fallback) !== undefined;
  const hint = 'capacity of the queue: "1 bdp", "100 packets", "64 KiB", "20 ms" or "unlimited"';
  const marks = table?.fields.find((field) => field.name === "ecn");
  const kept = capacity === undefined ? {} : { capacity };
  const setKind = (word: string): Json | undefined => {
    if (word === "") return capacity === undefined ? undefined : kept;
    return { kind: word, ...kept, ...REQUIRED[word] };
  };
  return [
    ...chosen(editor, "queue", "queue", path, { value: "", label: "default (droptail)" }, setKind),
    isBdp || path[0] === "dumbbell"
      ? slider("buffer", hint, BDP, fallback as string, bind(editor, [...path, "capacity"]))
      : text("buffer", hint, String(fallback), "", bind(editor, [...path, "capacity"])),
    marks && flag("mark (ECN)", marks.doc, marks.default === true, bind(editor, [...path, "ecn"])),
  ].filter((one) => one !== undefined);
}

function line(editor: Editor, path: Path): HTMLElement[] {
  const trace = get(editor.document, field(path, "trace"));
  const name = typeof trace === "string" ? trace : trace === undefined ? undefined : "other";
  const options = [
    { value: "", label: "constant rate" },
    ...editor.data.traces.map((one) => ({ value: one, label: `trace ${one}` })),
  ];
  const change = (value: Json | undefined): void => {
    editor.change(field(path, "rate"), value === undefined ? "20 Mbps" : undefined);
    editor.change(field(path, "trace"), value, true);
  };
  const rate = slider("rate", "rate of the line", quantity(1e5, 1e9, "rate"), "none", bind(editor, field(path, "rate")));
  return [
    choice("line", "a constant rate, or a synthetic trace of opportunities to send", [["", options]], { value: name, change }),
    ...(name === undefined ? [rate] : []),
  ];
}

function loss(editor: Editor, path: Path): (HTMLElement | undefined)[] {
  const where = field(path, "loss");
  const present = get(editor.document, where);
  if (Array.isArray(present)) return [make("p", {}, "Several loss models: see the scenario as TOML.")];
  const kind = get(editor.document, [...where, "kind"]);
  const defaults: Record<string, Json> = {
    bernoulli: { kind: "bernoulli", p: 0.001 },
    "gilbert-elliott": { kind: "gilbert-elliott", p: 0.001, r: 0.3, loss_bad: 0.5 },
    list: { kind: "list", indices: [100] },
  };
  const p = slider("p", "probability of a loss", number(1e-6, 0.1, true), 0.001, bind(editor, [...where, "p"]));
  return [
    ...chosen(editor, "loss", "loss", where, { value: "", label: "none" }, (word) => defaults[word]),
    ...(kind === "bernoulli" || kind === "gilbert-elliott" ? [p] : []),
  ];
}

/** The form of a link. */
export function linkForm(editor: Editor, title: string, path: Path): HTMLElement {
  const delay = slider("delay", "propagation, one way", quantity(1e-5, 0.3, "time"), "0 s", bind(editor, field(path, "delay")));
  const except: LinkField[] = ["rate", "trace", "delay", "queue", "loss"];
  const rest = fold(editor, "More of the link", editor.data.tables.link!, path, except);
  const rows = [...line(editor, path), delay, ...queueForm(editor, field(path, "queue")), ...loss(editor, path), rest];
  return make("fieldset", {}, make("legend", {}, title), ...rows.filter((row) => row !== undefined));
}
