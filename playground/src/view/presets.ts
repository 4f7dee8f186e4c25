// The choice of a preset: groups, the presets of a group, and a search over all of them.

import type { Preset } from "../scenario/data";
import { byId, make } from "./dom";

/** Presets whose title, explanation, group or id has every word of the query. */
export function matching(presets: Preset[], query: string): Preset[] {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  return presets.filter((one) => {
    const text = `${one.title} ${one.about} ${one.group} ${one.id}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

export class Choice {
  private readonly group = byId<HTMLSelectElement>("group");
  private readonly preset = byId<HTMLSelectElement>("preset");
  private readonly search = byId<HTMLInputElement>("search");

  constructor(
    private readonly presets: Preset[],
    private readonly chosen: (preset: Preset) => void,
  ) {
    for (const name of new Set(presets.map((one) => one.group))) {
      this.group.append(make("option", { value: name }, name));
    }
    this.group.addEventListener("change", () => {
      this.search.value = "";
      this.list(this.ofGroup());
    });
    this.search.addEventListener("input", () => {
      const query = this.search.value.trim();
      this.list(query === "" ? this.ofGroup() : matching(this.presets, query));
    });
    this.preset.addEventListener("change", () => {
      const preset = this.presets.find((one) => one.id === this.preset.value);
      if (preset) this.chosen(preset);
    });
  }

  /** Shows which preset is on the page: its group and its title; none of them for a scenario of the user. */
  show(preset: Preset | undefined): void {
    if (preset && ![...this.preset.options].some((one) => one.value === preset.id)) {
      this.search.value = "";
      this.group.value = preset.group;
    }
    if (preset || this.preset.options.length === 0) this.list(this.search.value.trim() ? this.listed() : this.ofGroup());
    this.preset.value = preset?.id ?? "";
  }

  private ofGroup(): Preset[] {
    return this.presets.filter((one) => one.group === this.group.value);
  }

  private listed(): Preset[] {
    return matching(this.presets, this.search.value);
  }

  /** Lists presets under their groups, after a line that says how many there are. */
  private list(presets: Preset[]): void {
    const count = presets.length === 1 ? "1 preset" : `${presets.length} presets`;
    const first = make("option", { value: "" }, `choose one of ${count}`);
    const groups = [...new Set(presets.map((one) => one.group))].map((name) => {
      const mine = presets.filter((one) => one.group === name);
      return make("optgroup", { label: name }, ...mine.map((one) => make("option", { value: one.id }, one.title)));
    });
    this.preset.replaceChildren(first, ...groups);
  }
}
