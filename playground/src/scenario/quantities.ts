// Quantities as text with a unit, as docs/scenario.md spells them: rates, times, sizes, capacities of queues.

export type Quantity = "rate" | "time" | "size";

/** Factors to bit/s, s and bytes. */
const UNITS: Record<Quantity, Record<string, number>> = {
  rate: { bps: 1, kbps: 1e3, Mbps: 1e6, Gbps: 1e9, "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9 },
  time: { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60 },
  size: { B: 1, kB: 1e3, KiB: 1024, MB: 1e6, MiB: 2 ** 20, GB: 1e9, GiB: 2 ** 30 },
};

/** Units that `print` uses, from the smallest. */
const PRINTED: Record<Quantity, string[]> = {
  rate: ["bps", "kbps", "Mbps", "Gbps"],
  time: ["ns", "us", "ms", "s"],
  size: ["B", "kB", "MB", "GB"],
};

/** The value in bit/s, s or bytes; undefined for other text. */
export function parse(text: unknown, quantity: Quantity): number | undefined {
  const found = /^\s*([0-9.]+(?:e[+-]?\d+)?)\s*([A-Za-z/]+)\s*$/i.exec(String(text));
  const factor = found ? UNITS[quantity][found[2]!] : undefined;
  const number = Number(found?.[1]);
  return factor === undefined || Number.isNaN(number) ? undefined : number * factor;
}

/** Three significant digits with the largest unit that keeps the number at one or above. */
export function print(value: number, quantity: Quantity): string {
  const names = PRINTED[quantity];
  const unit = [...names].reverse().find((name) => value >= UNITS[quantity][name]! * 0.9995) ?? names[0]!;
  return `${digits(value / UNITS[quantity][unit]!)} ${unit}`;
}

/** Three significant digits, without an exponent. */
export function digits(value: number): string {
  if (value === 0) return "0";
  if (Math.abs(value) < 1e-4) return value.toExponential(2).replace(/\.?0+e/, "e");
  return String(Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(3)));
}

/** The number of BDPs of a capacity such as "0.5 bdp"; undefined for others. */
export function parseBdp(text: unknown): number | undefined {
  const found = /^\s*([0-9.]+)\s*bdp\s*$/i.exec(String(text));
  return found ? Number(found[1]) : undefined;
}
