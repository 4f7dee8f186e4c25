// The form: path, flows and run of the document. It is made anew where fields come or go, and left alone while a slider moves.

import { flows, isTable, mainLink, type Path, type Table } from "../scenario/document";
import { FIRST_SEED, seedOf } from "../scenario/seed";
import { type Binding, declared, quantity, slider, text } from "./controls";
import { make } from "./dom";
import { bind, type Editor, fold } from "./editor";
import { flowForm } from "./flow_form";
import { linkForm, queueForm } from "./link_form";

function runForm(editor: Editor): HTMLElement {
  const change: Binding["change"] = (value) => {
    const seed = seedOf(value);
    // Where another seed runs than the one that was typed, the field shows it.
    editor.setSeed(seed, value !== undefined && seed !== value);
  };
  const seed: Binding = { value: editor.seed, change };
  const fields = editor.data.tables.scenario!;
  const path: Path = [];
  return make(
    "fieldset",
    {},
    make("legend", {}, "Run"),
    slider("duration", "simulated time", quantity(0.5, 300, "time"), "30 s", bind(editor, ["duration"])),
    text("seed", "seed of all random streams: a whole number", String(FIRST_SEED), FIRST_SEED, seed),
    fold(editor, "Samples and metrics", fields, path, ["schema_version", "title", "duration"]) ?? "",
  );
}

function wlanForm(editor: Editor): HTMLElement {
  const fields = editor.data.tables.wlan!;
  const standard = fields.find((field) => field.name === "standard")!;
  const shown = declared(standard, bind(editor, ["wlan", "standard"], true));
  const isLegacy = (editor.document.wlan as Table).standard === "802.11g";
  return make(
    "fieldset",
    {},
    make("legend", {}, "Wireless LAN"),
    shown ?? "",
    ...queueForm(editor, ["wlan", "queue"]),
    fold(editor, "Medium", fields, ["wlan"], ["standard", isLegacy ? "mcs" : "rate"]) ?? "",
  );
}

function otherForm(): HTMLElement {
  const what = "This scenario has another network than a dumbbell or a wireless LAN: change it as TOML, below.";
  return make("fieldset", {}, make("legend", {}, "Path"), make("p", {}, what));
}

function pathForm(editor: Editor): HTMLElement {
  const main = mainLink(editor.document);
  if (main) return linkForm(editor, "Path", main);
  return isTable(editor.document.wlan) ? wlanForm(editor) : otherForm();
}

/** Flows with a form of their own; those after them are changed in the text. */
const MOST_FLOW_FORMS = 20;

function moreFlows(count: number): HTMLElement {
  const what = `${count} further flows have no form here: change them as TOML, below.`;
  return make("p", { class: "quiet" }, what);
}

/** The whole form. */
export function form(editor: Editor): HTMLElement[] {
  const all = flows(editor.document);
  const add = make("button", { type: "button", id: "add-flow" }, "Add a flow");
  add.addEventListener("click", () => {
    const copy = structuredClone(all.at(-1) ?? { algorithm: "cubic", rtt: "40 ms" });
    delete copy.name;
    editor.change(["flow", all.length], copy, true);
  });
  const forms = all.slice(0, MOST_FLOW_FORMS).map((_, at) => flowForm(editor, at));
  const more = all.length > MOST_FLOW_FORMS ? [moreFlows(all.length - MOST_FLOW_FORMS)] : [];
  return [pathForm(editor), ...forms, ...more, add, runForm(editor)];
}
