// The page: one scenario, its form, its run.

import { compile, Engine, Stale } from "./engine/engine";
import type { Run } from "./engine/protocol";
import type { Data, Preset, Tables } from "./scenario/data";
import { countFlows, type Json, type Path, set, type Table, titleOf } from "./scenario/document";
import { FIRST_SEED } from "./scenario/seed";
import { pack, parts, type Shared, unpack } from "./scenario/url";
import { byId, make } from "./view/dom";
import type { Editor } from "./view/editor";
import { form } from "./view/form";
import { Plots } from "./view/plots";
import { isDark } from "./view/palette";
import { Choice } from "./view/presets";
import { SIGNS } from "./view/marks";
import { picture } from "./view/series";
import { connect, faultList, listTables, type Owner } from "./view/share";
import { sentence, summary } from "./view/summary";
import { Why } from "./view/why";

/** The address is written anew after this time without a change. */
const ADDRESS_MS = 300;
/** A screen reader is told of a run after this time without another one. */
const SPOKEN_MS = 1200;
/** A run that takes longer is announced with its size. */
const LONG_MS = 1500;

class Page implements Editor, Owner {
  document: Table = {};
  seed = FIRST_SEED;
  private pinned: number | undefined;
  private preset: Preset | undefined;
  private choice: Choice | undefined;
  private longTimer = 0;
  /** What the address lacked; it stays until the scenario is changed, or another one is shown. */
  private notice = "";
  private addressTimer = 0;
  private spokenTimer = 0;
  private readonly plots: Plots;
  private readonly why: Why;
  /** Finished runs, for tests. */
  runs = 0;

  constructor(
    readonly data: Data,
    readonly engine: Engine,
  ) {
    const page = this;
    const cursor = {
      get time() {
        return page.pinned;
      },
      pin: (time: number) => this.pin(time),
    };
    this.plots = new Plots(byId("plots"), cursor);
    this.why = new Why(byId("why"), ({ time, flow }) => {
      const at_ns = Math.round(time * 1e9);
      return engine.ask({ do: "look", scenario: JSON.stringify(this.document), seed: this.seed, flow, at_ns });
    });
  }

  shared(): Shared {
    return { document: this.document, seed: this.seed };
  }

  /** Shows a scenario. Where it is made from the present preset, by its title, the explanation of the preset stays. */
  load(shared: Shared, preset: Preset | undefined = this.presetOf(shared.document)): void {
    this.document = structuredClone(shared.document);
    this.seed = shared.seed;
    this.preset = preset;
    this.pinned = undefined;
    byId("about").textContent = preset?.about || titleOf(this.document);
    this.choice?.show(preset);
    byId("why").replaceChildren();
    this.showForm();
    void this.start();
  }

  change(path: Path, value: Json | undefined, anew = false): void {
    this.notice = "";
    set(this.document, path, value);
    if (anew) this.showForm();
    void this.start();
  }

  setSeed(seed: number, anew = false): void {
    this.seed = seed;
    if (anew) this.showForm();
    void this.start();
  }

  say(text: string): void {
    byId("status").textContent = text;
  }

  /** Makes the form anew; folds that were open stay open, and the focus stays where it was. */
  private showForm(): void {
    const place = byId("form");
    const titles = (): HTMLDetailsElement[] => [...place.querySelectorAll("details")];
    const open = titles().map((one) => one.open && one.querySelector("summary")?.textContent);
    const labels = [...place.querySelectorAll<HTMLElement>("input, select, button")];
    const focused = labels.indexOf(document.activeElement as HTMLElement);
    place.replaceChildren(...form(this));
    for (const one of titles()) one.open = open.includes(one.querySelector("summary")!.textContent);
    if (focused >= 0) place.querySelectorAll<HTMLElement>("input, select, button")[focused]?.focus();
  }

  /** Lists the flows of the run for "Why"; a flow of the scenario may stand for several. */
  private listFlows(names: string[]): void {
    const select = byId<HTMLSelectElement>("why-flow");
    const present = select.value;
    select.replaceChildren(...names.map((name, at) => make("option", { value: at }, name)));
    if (present !== "" && Number(present) < names.length) select.value = present;
  }

  /** Runs the scenario; only the newest run is shown. */
  private async start(): Promise<void> {
    this.writeAddress();
    byId("plots").setAttribute("aria-busy", "true");
    const scenario = JSON.stringify(this.document);
    this.announce();
    try {
      const run = await this.engine.ask({ do: "run", scenario, seed: this.seed });
      this.show(run);
      byId("faults").replaceChildren();
    } catch (error) {
      if (error instanceof Stale) return;
      byId("faults").replaceChildren(...faultList(error));
      byId("plots").removeAttribute("aria-busy");
      this.announced();
    }
  }

  /** The present preset, where a document has its title. */
  private presetOf(document: Table): Preset | undefined {
    return this.preset && titleOf(this.preset.document) === titleOf(document) ? this.preset : undefined;
  }

  /** Says how large a run is that takes long, until it ends. */
  private announce(): void {
    clearTimeout(this.longTimer);
    this.longTimer = window.setTimeout(() => {
      const size = `${countFlows(this.document).toLocaleString("en")} flows, ${String(this.document.duration)}`;
      this.say(`This run takes a while (${size}). A change of the scenario stops it; fewer flows, lower rates or a shorter duration take less.`);
      this.longTimer = 0;
    }, LONG_MS);
  }

  private announced(): void {
    if (this.longTimer === 0) this.say(this.notice);
    clearTimeout(this.longTimer);
  }

  private show(run: Run): void {
    this.announced();
    const drawn = picture(run);
    this.plots.show(drawn);
    this.listFlows(drawn.names);
    byId("summary").replaceChildren(...summary(run));
    byId("notes").replaceChildren(...run.notes.map((note) => make("li", {}, note)));
    const rate = run.packets / run.engine_ms / 1000;
    const speed = `${run.packets.toLocaleString("en")} packets in ${run.engine_ms.toFixed(0)} ms (${rate.toFixed(1)} million/s)`;
    byId("cost").textContent = speed;
    listTables(run);
    byId("plots").removeAttribute("aria-busy");
    this.runs += 1;
    const { dataset } = document.documentElement;
    if (!dataset.first) this.say(this.notice);
    dataset.first ??= performance.now().toFixed(1);
    dataset.ready = "yes";
    clearTimeout(this.spokenTimer);
    this.spokenTimer = window.setTimeout(() => this.say(`${this.notice} ${sentence(run)}`.trim()), SPOKEN_MS);
    if (this.pinned !== undefined) void this.explain();
  }

  private pin(time: number): void {
    this.pinned = time;
    byId<HTMLInputElement>("why-time").value = time.toFixed(3);
    this.plots.movePin();
    void this.explain();
  }

  private explain(): Promise<void> {
    return this.why.show({ time: this.pinned ?? 0, flow: Number(byId<HTMLSelectElement>("why-flow").value) });
  }

  private writeAddress(): void {
    clearTimeout(this.addressTimer);
    this.addressTimer = window.setTimeout(async () => {
      const known = parts(location.hash);
      const next = new URLSearchParams();
      if (known.has("embed")) next.set("embed", "1");
      const { preset } = this;
      const same = preset && preset.seed === this.seed && JSON.stringify(preset.document) === JSON.stringify(this.document);
      if (same) next.set("preset", preset.id);
      else {
        next.set("s", await pack(this.shared()));
        if (preset) next.set("preset", preset.id);
      }
      history.replaceState(null, "", `#${next.toString()}`);
      const whole = byId<HTMLAnchorElement>("whole");
      next.delete("embed");
      whole.href = `${location.pathname}#${next.toString()}`;
    }, ADDRESS_MS);
  }

  /** Shows what the address says; the first preset where it says nothing, or nothing known. */
  async follow(): Promise<void> {
    this.notice = "";
    const known = parts(location.hash);
    document.documentElement.classList.toggle("embed", known.has("embed"));
    const packed = known.get("s");
    const named = this.data.presets.find((one) => one.id === known.get("preset"));
    const shared = packed === null ? undefined : await unpack(packed);
    if (shared) {
      this.preset = named;
      try {
        this.load(shared);
        return;
      } catch (error) {
        this.notice = `The address holds a scenario that cannot be shown (${String(error)}); a preset is shown.`;
      }
    } else if (packed !== null) {
      this.notice = "The address holds no scenario that can be read; a preset is shown.";
    }
    const preset = named ?? this.data.presets[0]!;
    this.load(preset, preset);
    if (this.notice) this.say(this.notice);
  }

  connect(): void {
    connect(this);
    this.choice = new Choice(this.data.presets, (preset) => {
      this.notice = "";
      this.load(preset, preset);
    });
    byId("form").addEventListener("submit", (event) => event.preventDefault());
    byId("explain").addEventListener("submit", (event) => {
      event.preventDefault();
      const time = Number(byId<HTMLInputElement>("why-time").value);
      if (time >= 0) this.pin(time);
    });
    byId("why-flow").addEventListener("change", () => this.pinned !== undefined && void this.explain());
    byId("theme").addEventListener("click", () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      this.plots.redraw();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.plots.redraw());
    window.addEventListener("hashchange", () => void this.follow());
    byId("signs").textContent = Object.values(SIGNS).map(({ sign, word }) => `${sign}: ${word}`).join("; ");
  }
}

async function main(): Promise<void> {
  const source = URL.createObjectURL(new Blob([CWNDLAB_WORKER], { type: "text/javascript" }));
  const module = await compile(CWNDLAB_ENGINE);
  const engine = new Engine(module, source);
  const catalogue = await engine.ask({ do: "catalogue" });
  byId("version").textContent = catalogue.version;
  const page = new Page({ ...catalogue, ...(JSON.parse(CWNDLAB_DATA) as Tables) }, engine);
  page.connect();
  // For tests of the page, which ask the engine as the page does.
  Object.assign(window, { cwndlab: page });
  await page.follow();
}

main().catch((error: unknown) => {
  byId("status").textContent = `The engine cannot be started: ${String(error)}`;
  throw error;
});

export type { Page };
