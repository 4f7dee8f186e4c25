// Texts to copy, the scenario as TOML to edit, and files of the records.

import type { Engine } from "../engine/engine";
import { Refusal } from "../engine/module";
import type { Run } from "../engine/protocol";
import * as copies from "../scenario/copy";
import type { Shared } from "../scenario/url";
import { byId, make } from "./dom";

export interface Owner {
  engine: Engine;
  /** The scenario that is shown. */
  shared(): Shared;
  /** Takes a scenario that the engine has accepted. */
  load(shared: Shared): void;
  say(text: string): void;
}

async function toml(owner: Owner): Promise<string> {
  const { document } = owner.shared();
  return (await owner.engine.ask({ do: "check", scenario: JSON.stringify(document), format: "json" })).toml;
}

async function copy(owner: Owner, what: string, text: () => Promise<string>): Promise<void> {
  const shown = byId<HTMLTextAreaElement>("copied");
  try {
    shown.value = await text();
  } catch (error) {
    owner.say((error as Error).message);
    return;
  }
  shown.hidden = false;
  // Browsers refuse the clipboard to pages on a disk; the text is selected for the keyboard then.
  try {
    await navigator.clipboard.writeText(shown.value);
    owner.say(`${what} copied.`);
  } catch {
    shown.focus();
    shown.select();
    owner.say(`${what}: press Ctrl+C to copy.`);
  }
}

async function apply(owner: Owner): Promise<void> {
  const text = byId<HTMLTextAreaElement>("toml").value;
  const faults = byId("toml-faults");
  faults.replaceChildren();
  try {
    const found = await owner.engine.ask({ do: "check", scenario: text, format: "toml" });
    owner.load({ document: found.document as Shared["document"], seed: owner.shared().seed });
    owner.say("The scenario was applied.");
  } catch (error) {
    faults.replaceChildren(...faultList(error));
  }
}

/** Faults of a scenario as list items. */
export function faultList(error: unknown): HTMLElement[] {
  if (!(error instanceof Refusal)) return [make("li", {}, String(error))];
  return error.faults.map((fault) => {
    const where = fault.where ? make("code", {}, fault.where) : undefined;
    return make("li", {}, where, `${where ? ": " : ""}${fault.what}${fault.hint ? `; ${fault.hint}` : ""}`);
  });
}

async function download(owner: Owner, table: string): Promise<void> {
  const { document, seed } = owner.shared();
  const blob = await owner.engine.ask({ do: "csv", scenario: JSON.stringify(document), seed, table });
  const link = make("a", { href: URL.createObjectURL(blob), download: `${table}.csv` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Lists the tables of a run for download. */
export function listTables(run: Run): void {
  const select = byId<HTMLSelectElement>("table");
  const present = select.value;
  const options = Object.entries(run.sizes).map(([name, rows]) =>
    make("option", { value: name }, `${name} (${rows.toLocaleString("en")} rows)`),
  );
  select.replaceChildren(...options);
  if (present in run.sizes) select.value = present;
  byId("hash").textContent = run.hash;
}

/** Makes the buttons work. */
export function connect(owner: Owner): void {
  const on = (id: string, act: () => void | Promise<void>): void => {
    byId(id).addEventListener("click", () => void act());
  };
  const { python, command } = copies;
  on("copy-link", () => copy(owner, "The address", async () => location.href));
  on("copy-toml", () => copy(owner, "TOML", () => toml(owner)));
  on("copy-python", () => copy(owner, "Python", async () => python(await toml(owner), owner.shared().seed)));
  on("copy-command", () => copy(owner, "The command", async () => command(await toml(owner), owner.shared().seed)));
  on("apply-toml", () => apply(owner));
  on("download", async () => {
    try {
      await download(owner, byId<HTMLSelectElement>("table").value);
    } catch (error) {
      owner.say((error as Error).message);
    }
  });
  byId<HTMLDetailsElement>("edit-toml").addEventListener("toggle", async () => {
    try {
      byId<HTMLTextAreaElement>("toml").value = await toml(owner);
    } catch {
      // A scenario with faults has no TOML; the faults are shown beside the form.
    }
  });
}
