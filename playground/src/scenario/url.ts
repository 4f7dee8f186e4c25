// The scenario in the address: `#s=` and the document with its seed, deflated, in base64url.

import { isTable, isTooDeep, type Table } from "./document";

export interface Shared {
  document: Table;
  seed: number;
}

async function through(bytes: Uint8Array, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const piped = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

export async function pack(shared: Shared): Promise<string> {
  const text = JSON.stringify({ d: shared.document, s: shared.seed });
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Undefined where the text is not one of `pack`, or holds a document that no engine reads. */
export async function unpack(text: string): Promise<Shared | undefined> {
  try {
    const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const inflated = await through(bytes, new DecompressionStream("deflate-raw"));
    const found = JSON.parse(new TextDecoder().decode(inflated)) as { d: unknown; s: unknown };
    const seed = Number(found.s);
    const isValid = isTable(found.d) && !isTooDeep(found.d) && Number.isSafeInteger(seed) && seed >= 0;
    return isValid ? { document: found.d as Table, seed } : undefined;
  } catch {
    return undefined;
  }
}

/** The parts of the address after `#`. */
export function parts(hash: string): URLSearchParams {
  return new URLSearchParams(hash.replace(/^#/, ""));
}
