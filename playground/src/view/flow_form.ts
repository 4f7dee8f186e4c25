// A flow: algorithm with its parameters, RTT, start, workload, ECN.

import { type Algorithm, parse, type Part, print } from "../scenario/algorithm";
import { type Entry, type Parameter, words } from "../scenario/data";
import { type FlowField, flows, get, type Json, type Path } from "../scenario/document";
import { choice, number, type Option, quantity, slider, text } from "./controls";
import { make } from "./dom";
import { bind, chosen, type Editor, fold } from "./editor";
import { colour } from "./palette";

/** Headings of the choice of an algorithm, by the kind of the entry. */
const KINDS: [Entry["kind"], string][] = [
  ["growth", "Congestion avoidance, with a slow start"],
  ["whole", "Whole algorithms"],
  ["router", "With routers"],
];

/** Fields of a flow that have a line of their own. */
const SHOWN: FlowField[] = ["algorithm", "rtt", "start", "workload", "transport"];

function field(at: number, name: FlowField): Path {
  return ["flow", at, name];
}

function entryOf(editor: Editor, name: string): Entry | undefined {
  const canonical = editor.data.aliases[name] ?? name;
  return editor.data.algorithms.find((one) => one.name === canonical.split("+")[0]);
}

function about(entry: Entry): string {
  return `${entry.summary} (${entry.source}, ${entry.year})`;
}

function option(entry: Entry): Option {
  return { value: entry.name, label: `${entry.title} (${entry.name})`, title: about(entry) };
}

function parameter(one: Parameter, part: Part, change: (value: string | undefined) => void): HTMLElement {
  const binding = {
    value: part.parameters[one.name],
    change: (value: Json | undefined) => change(value === undefined ? undefined : String(value)),
  };
  const hint = `${one.doc}${one.unit ? ` (${one.unit})` : ""}`;
  if (one.words.length) {
    const options = one.words.map((word) => ({ value: word, label: word }));
    const present = { ...binding, value: binding.value ?? String(one.default) };
    return choice(one.name, hint, [["", options]], present);
  }
  const { low, high } = one;
  if (low === null || high === null || !Number.isFinite(high - low)) return text(one.name, hint, String(one.default), 0, binding);
  const isLog = low > 0 && high / low > 100;
  return slider(one.name, `${hint}; ${low} to ${high}`, number(low, high, isLog), one.default, binding);
}

function parameters(editor: Editor, at: number, algorithm: Algorithm, part: Part): HTMLElement | undefined {
  const entry = entryOf(editor, part.name);
  if (!entry?.parameters.length) return undefined;
  const rows = entry.parameters.map((one) =>
    parameter(one, part, (value) => {
      if (value === undefined || value === String(one.default)) delete part.parameters[one.name];
      else part.parameters[one.name] = value;
      editor.change(field(at, "algorithm"), print(algorithm));
    }),
  );
  return make("details", {}, make("summary", {}, `Parameters of ${entry.title}`), ...rows);
}

function algorithmForm(editor: Editor, at: number): (HTMLElement | undefined)[] {
  const path: Path = field(at, "algorithm");
  const algorithm = parse(String(get(editor.document, path) ?? ""));
  const entry = entryOf(editor, algorithm.growth.name);
  const groups = KINDS.map(([kind, title]): [string, Option[]] => [
    title,
    editor.data.algorithms.filter((one) => one.kind === kind && one.name !== "sirens").map(option),
  ]);
  const growth = choice("algorithm", entry ? about(entry) : "", groups, {
    value: entry?.name ?? algorithm.growth.name,
    change: (name) => editor.change(path, String(name), true),
  });
  const starts = editor.data.algorithms.filter((one) => one.kind === "slow-start").map(option);
  const start = choice("slow start", "", [["", [{ value: "", label: `default (${entry?.companion ?? ""})` }, ...starts]]], {
    value: algorithm.slowStart?.name,
    change: (name) => {
      algorithm.slowStart = name === undefined ? undefined : { name: String(name), parameters: {} };
      editor.change(path, print(algorithm), true);
    },
  });
  return [
    growth,
    entry?.kind === "growth" ? start : undefined,
    parameters(editor, at, algorithm, algorithm.growth),
    algorithm.slowStart && parameters(editor, at, algorithm, algorithm.slowStart),
  ];
}

function workload(editor: Editor, at: number): (HTMLElement | undefined)[] {
  const path: Path = field(at, "workload");
  return chosen(editor, "workload", "workload", path, { value: "", label: "bulk, unlimited" }, (word) => {
    if (word === "") return undefined;
    const begins = editor.data.choices.workload.find((one) => one.name === word)?.begins;
    editor.change(field(at, "transport"), begins?.transport);
    if (begins?.transport) editor.change(field(at, "algorithm"), undefined);
    else if (!get(editor.document, field(at, "algorithm"))) editor.change(field(at, "algorithm"), "cubic");
    return begins?.workload;
  });
}

/** The number in the run of the first flow that a flow of the scenario stands for. */
function firstOf(editor: Editor, at: number): number {
  const before = flows(editor.document).slice(0, at);
  return before.reduce((sum, flow) => sum + (typeof flow.count === "number" ? flow.count : 1), 0);
}

/** The form of a flow. */
export function flowForm(editor: Editor, at: number): HTMLElement {
  const path: Path = ["flow", at];
  const isUdp = get(editor.document, field(at, "transport")) === "udp";
  const declared = editor.data.tables.stack!.find((one) => one.name === "ecn")!;
  const ecn = words(declared).map((word) => ({ value: word, label: word }));
  const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = colour(firstOf(editor, at));
  const name = get(editor.document, field(at, "name")) ?? `flow${at}`;
  const remove = make("button", { type: "button", class: "remove", "aria-label": `remove flow ${name}` }, "×");
  remove.addEventListener("click", () => editor.change(path, undefined, true));
  const rows = [
    ...(isUdp ? [] : algorithmForm(editor, at)),
    slider("RTT", "base RTT of both directions", quantity(1e-4, 0.6, "time"), "40 ms", bind(editor, field(at, "rtt"))),
    slider("start", "time at which the flow starts", quantity(0.01, 100, "time"), "0 s", bind(editor, field(at, "start"))),
    ...workload(editor, at),
    isUdp
      ? undefined
      : choice("ECN", "the flow's use of ECN", [["", [{ value: "", label: "default (off)" }, ...ecn]]], bind(editor, [...field(at, "stack"), "ecn"])),
    fold(editor, "More of the flow", editor.data.tables.flow!, path, SHOWN),
    isUdp ? undefined : fold(editor, "TCP stack", editor.data.tables.stack!, field(at, "stack"), ["ecn"]),
  ];
  const legend = make("legend", {}, swatch, String(name), flows(editor.document).length > 1 ? remove : undefined);
  return make("fieldset", { class: "flow" }, legend, ...rows.filter((row) => row !== undefined));
}
