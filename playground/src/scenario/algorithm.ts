// Texts of algorithms: `GROWTH(name=value)[+SLOW_START(…)][/RECOVERY]`.

export interface Part {
  name: string;
  parameters: Record<string, string>;
}

export interface Algorithm {
  growth: Part;
  slowStart: Part | undefined;
  recovery: string | undefined;
}

function part(text: string): Part {
  const found = /^([^()]*)(?:\((.*)\))?$/s.exec(text.trim());
  const pairs = (found?.[2] ?? "").split(",").filter((pair) => pair.includes("="));
  const parameters = pairs.map((pair) => pair.split("=", 2).map((side) => side.trim()) as [string, string]);
  return { name: (found?.[1] ?? text).trim(), parameters: Object.fromEntries(parameters) };
}

/** Reads a text. The engine judges it; this only takes it apart. */
export function parse(text: string): Algorithm {
  const [head = "", recovery] = text.split("/", 2);
  const [growth = "", slowStart] = head.split("+", 2);
  return { growth: part(growth), slowStart: slowStart === undefined ? undefined : part(slowStart), recovery };
}

function spell(one: Part): string {
  const pairs = Object.entries(one.parameters).map(([name, value]) => `${name}=${value}`);
  return pairs.length ? `${one.name}(${pairs.join(", ")})` : one.name;
}

/** The text of an algorithm. */
export function print(one: Algorithm): string {
  const start = one.slowStart ? `+${spell(one.slowStart)}` : "";
  return `${spell(one.growth)}${start}${one.recovery ? `/${one.recovery}` : ""}`;
}
