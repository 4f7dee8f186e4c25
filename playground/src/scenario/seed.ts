// The seed of a run.

/** Where the field is empty. */
export const FIRST_SEED = 1;

/** The seed that a text means: a whole number that the address can hold, which JSON keeps up to 2^53 - 1. */
export function seedOf(text: unknown): number {
  const given = String(text ?? "").trim();
  const seed = given === "" ? NaN : Math.round(Number(given));
  return Number.isNaN(seed) ? FIRST_SEED : Math.min(Math.max(0, seed), Number.MAX_SAFE_INTEGER);
}
