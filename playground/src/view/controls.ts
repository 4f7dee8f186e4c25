// Controls of the form: sliders with a text beside them, choices, switches, and the fields of a declared table.

import { type Field, words } from "../scenario/data";
import type { Json } from "../scenario/document";
import { digits, parse, parseBdp, print, type Quantity } from "../scenario/quantities";
import { freshId, make } from "./dom";

/** Steps of a slider. */
const STEPS = 200;

/** How a slider's number and the text of the field stand for each other. */
export interface Scale {
  low: number;
  high: number;
  log: boolean;
  read(text: unknown): number | undefined;
  write(value: number): Json;
}

export function quantity(low: number, high: number, unit: Quantity): Scale {
  return { low, high, log: true, read: (text) => parse(text, unit), write: (value) => print(value, unit) };
}

export const BDP: Scale = {
  low: 0.05,
  high: 20,
  log: true,
  read: parseBdp,
  write: (value) => `${digits(value)} bdp`,
};

export function number(low: number, high: number, log = false): Scale {
  const read = (text: unknown): number | undefined => (text === "" || Number.isNaN(Number(text)) ? undefined : Number(text));
  return { low, high, log, read, write: (value) => Number(digits(value)) };
}

function toStep(scale: Scale, value: number): number {
  const clamped = Math.min(scale.high, Math.max(scale.low, value));
  const share = scale.log
    ? Math.log(clamped / scale.low) / Math.log(scale.high / scale.low)
    : (clamped - scale.low) / (scale.high - scale.low);
  return Math.round(share * STEPS);
}

function fromStep(scale: Scale, step: number): number {
  const share = step / STEPS;
  return scale.log ? scale.low * (scale.high / scale.low) ** share : scale.low + share * (scale.high - scale.low);
}

/** What a control is told, and whom it tells. An undefined value stands for the default. */
export interface Binding {
  value: Json | undefined;
  change(value: Json | undefined): void;
}

function row(label: string, hint: string, id: string, ...controls: HTMLElement[]): HTMLElement {
  const name = make("label", { for: id, title: hint || undefined }, label);
  return make("div", { class: "row" }, name, ...controls);
}

/** A slider and a text; the text takes every spelling, also of values beyond the slider's ends. */
export function slider(label: string, hint: string, scale: Scale, fallback: Json, binding: Binding): HTMLElement {
  const id = freshId();
  const shown = String(binding.value ?? fallback);
  const text = make("input", { type: "text", id, value: shown, title: hint || undefined, spellcheck: "false" });
  const range = make("input", { type: "range", min: 0, max: STEPS, "aria-label": `${label}, slider`, tabindex: 0 });
  const follow = (value: unknown): void => {
    const read = scale.read(value);
    if (read !== undefined) range.value = String(toStep(scale, read));
    range.setAttribute("aria-valuetext", String(value));
  };
  follow(shown);
  range.addEventListener("input", () => {
    const value = scale.write(fromStep(scale, Number(range.value)));
    text.value = String(value);
    range.setAttribute("aria-valuetext", text.value);
    binding.change(value);
  });
  text.addEventListener("change", () => {
    follow(text.value);
    binding.change(valueOf(text.value, binding.value ?? fallback));
  });
  return row(label, hint, id, range, text);
}

/** A text as the field's value: a number where the present value is one. */
function valueOf(text: string, like: Json): Json | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return typeof like === "number" && !Number.isNaN(Number(trimmed)) ? Number(trimmed) : trimmed;
}

export interface Option {
  value: string;
  label: string;
  title?: string;
}

/** A choice. Options may stand in groups. */
export function choice(label: string, hint: string, groups: [string, Option[]][], binding: Binding): HTMLElement {
  const id = freshId();
  const select = make("select", { id, title: hint || undefined });
  const present = binding.value === undefined ? "" : String(binding.value);
  const known = groups.some(([, options]) => options.some((one) => one.value === present));
  if (!known) select.append(make("option", { value: present }, present));
  for (const [name, options] of groups) {
    const made = options.map((one) => make("option", { value: one.value, title: one.title }, one.label));
    if (name) select.append(make("optgroup", { label: name }, ...made));
    else select.append(...made);
  }
  select.value = present;
  select.addEventListener("change", () => binding.change(select.value === "" ? undefined : select.value));
  return row(label, hint, id, select);
}

export function flag(label: string, hint: string, fallback: boolean, binding: Binding): HTMLElement {
  const id = freshId();
  const checked = typeof binding.value === "boolean" ? binding.value : fallback;
  const box = make("input", { type: "checkbox", id, checked, title: hint || undefined });
  box.addEventListener("change", () => binding.change(box.checked));
  return row(label, hint, id, box);
}

export function text(label: string, hint: string, placeholder: string, like: Json, binding: Binding): HTMLElement {
  const id = freshId();
  const value = binding.value === undefined ? "" : String(binding.value);
  const input = make("input", { type: "text", id, value, placeholder, title: hint || undefined, spellcheck: "false" });
  input.addEventListener("change", () => binding.change(valueOf(input.value, like)));
  return row(label, hint, id, input);
}

/** Kinds of fields that a line of the form can show; others are left to the scenario's text. */
const SIMPLE = ["rate", "time", "size", "number", "integer", "probability", "text", "flag", "word"];

/** The control of a declared field; undefined where its values are tables or lists. */
export function declared(field: Field, binding: Binding): HTMLElement | undefined {
  const kinds = field.kind.split(" or ");
  const isCapacity = field.name === "capacity" || field.name === "mark_above";
  if (!isCapacity && !kinds.some((kind) => SIMPLE.includes(kind))) return undefined;
  if (typeof binding.value === "object" && binding.value !== null) return undefined;
  const hint = `${field.doc}. Accepts ${field.accepts}.`;
  const placeholder = field.default === null ? (field.absent ?? "") : String(field.default);
  if (field.kind === "flag") return flag(field.name, hint, field.default === true, binding);
  const accepted = words(field);
  if (accepted.length) {
    const options = [{ value: "", label: placeholder ? `default (${placeholder})` : "default" }];
    return choice(field.name, hint, [["", [...options, ...accepted.map((word) => ({ value: word, label: word }))]]], binding);
  }
  const isNumber = kinds.some((kind) => ["number", "integer", "probability"].includes(kind));
  return text(field.name, hint, placeholder, isNumber ? 0 : "", binding);
}
