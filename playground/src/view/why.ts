// "Why": the event that a flow's algorithm received at the pinned time, its state before and after, and the equations that
// the method in the sources names. The engine repeats the run up to that time (`cwndlab debug` does the same).

import { Stale } from "../engine/engine";
import type { Look, Moment, Place, Report } from "../engine/protocol";
import { digits } from "../scenario/quantities";
import { make, table } from "./dom";

type Value = string | number | boolean | null | undefined;

/** A value of which the name ends with the unit, as a reader expects it. */
function spell(name: string, value: Value): string {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (name.endsWith("_ns")) return `${digits(value / 1e6)} ms`;
  if (name.endsWith("_bps")) return `${digits(value / 1e6)} Mbit/s`;
  if (name.endsWith("_s")) return `${digits(value)} s`;
  if (name.endsWith("_bytes")) return `${value.toLocaleString("en")} B`;
  return digits(value);
}

/** The name without the unit that the value shows. */
function plain(name: string): string {
  return name.replace(/_(ns|bps|s|bytes)$/, "").replaceAll("_", " ");
}

function changes(caption: string, before: Record<string, Value>, after: Record<string, Value>): HTMLElement {
  const rows = Object.keys(after).map((name) => {
    const [old, now] = [spell(name, before[name]), spell(name, after[name])];
    return [plain(name), old, old === now ? now : make("strong", {}, now)];
  });
  return table(caption, ["", "before", "after"], rows);
}

function stateOf(one: Moment["before"]): Record<string, Value> {
  const { cwnd_bytes, ssthresh_bytes, pacing_rate_bps, phase, values } = one;
  return { phase, cwnd_bytes, ssthresh_bytes, pacing_rate_bps, ...values };
}

/** A method of the sources, and the equations and sections that its comments name. */
function placeOf(place: Place): HTMLElement {
  const what = make("p", {}, make("code", {}, `${place.entry}: ${place.method}`), ` in ${place.file}, line ${place.line}`);
  const references = place.references.map(([line, comment]) => make("li", {}, comment, make("small", {}, ` (line ${line})`)));
  return make("div", {}, what, references.length ? make("ul", {}, ...references) : undefined);
}

function momentOf(look: Look, moment: Moment): HTMLElement[] {
  const fields = Object.entries(moment.fields).map(([name, value]) => [plain(name), spell(name, value as Value)]);
  const places = moment.places.length
    ? moment.places.map(placeOf)
    : [make("p", {}, "The sources name no method of this entry for the event.")];
  const report = look.transport?.after;
  return [
    make("h3", {}, `${digits(moment.time_ns / 1e9)} s: ${moment.event}, by ${look.algorithm}`),
    make("h4", {}, "Equations"),
    ...places,
    make("div", { class: "columns" },
      changes("Algorithm", stateOf(moment.before), stateOf(moment.after)),
      table("Event", ["", "value"], fields),
      report ? changes("Transport", (look.transport!.before ?? {}) as Report, report) : undefined,
    ),
  ];
}

export interface Question {
  time: number;
  flow: number;
}

/** The panel. */
export class Why {
  constructor(
    private readonly place: HTMLElement,
    private readonly ask: (question: Question) => Promise<Look>,
  ) {}

  async show(question: Question): Promise<void> {
    this.place.setAttribute("aria-busy", "true");
    try {
      const look = await this.ask(question);
      const nothing = make("p", {}, "The flow's algorithm receives no event from this time on.");
      this.place.replaceChildren(...(look.moment ? momentOf(look, look.moment) : [nothing]));
    } catch (error) {
      if (error instanceof Stale) return;
      this.place.replaceChildren(make("p", {}, (error as Error).message));
    }
    this.place.removeAttribute("aria-busy");
  }
}
