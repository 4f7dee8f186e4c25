// The engine's WebAssembly module: calls, and columns read from its memory.

import type { Column, Fault, Table } from "./protocol";

interface Exports extends WebAssembly.Exports {
  memory: WebAssembly.Memory;
  cwndlab_start(): void;
  cwndlab_request(length: number): number;
  cwndlab_call(): number;
  cwndlab_answer(): number;
  cwndlab_panic(): number;
  cwndlab_panic_length(): number;
}

/** A column as `crates/bindings/wasm/src/columns.rs` describes it. */
interface Place {
  name: string;
  type: "uint8" | "uint32" | "uint64" | "int64" | "float64" | "bool" | "text";
  unit: string;
  values: number;
  offsets: number | null;
  valid: number | null;
}

export interface TablePlace {
  name: string;
  rows: number;
  columns: Place[];
}

/** The engine rejected a request, or failed; then `broken`, and the module has to be made anew. */
export class Refusal extends Error {
  constructor(
    readonly faults: Fault[],
    readonly broken = false,
  ) {
    super(faults.map((fault) => `${fault.where}: ${fault.what}`).join("; "));
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** An address from the engine. WebAssembly has no signs, and JavaScript reads its integers with one (ToJSValue). */
function address(value: number): number {
  return value >>> 0;
}

export class Module {
  private constructor(private readonly exports: Exports) {}

  static async make(module: WebAssembly.Module): Promise<Module> {
    const instance = await WebAssembly.instantiate(module, {});
    const made = new Module(instance.exports as Exports);
    made.exports.cwndlab_start();
    return made;
  }

  get memoryBytes(): number {
    return this.exports.memory.buffer.byteLength;
  }

  /** Carries out a request. Addresses in the answer are valid until the next one. */
  call(request: object): Record<string, unknown> {
    const bytes = encoder.encode(JSON.stringify(request));
    const place = address(this.exports.cwndlab_request(bytes.length));
    new Uint8Array(this.exports.memory.buffer, place, bytes.length).set(bytes);
    let length: number;
    try {
      length = this.exports.cwndlab_call();
    } catch (error) {
      throw new Refusal(this.panicked(error), true);
    }
    const answer = JSON.parse(this.text(address(this.exports.cwndlab_answer()), length)) as Record<string, unknown>;
    if (Array.isArray(answer.faults)) throw new Refusal(answer.faults as Fault[]);
    return answer;
  }

  private panicked(error: unknown): Fault[] {
    const length = this.exports.cwndlab_panic_length();
    if (length === 0) return [{ where: "engine", what: String(error), hint: "use a shorter run or fewer flows" }];
    return (JSON.parse(this.text(address(this.exports.cwndlab_panic()), length)) as { faults: Fault[] }).faults;
  }

  private text(from: number, length: number): string {
    return decoder.decode(new Uint8Array(this.exports.memory.buffer, from, length));
  }

  /** Copies a table. */
  table(place: TablePlace): Table {
    const columns: Record<string, Column> = {};
    for (const one of place.columns) {
      const column: Column = { name: one.name, unit: one.unit };
      if (one.type === "text") column.texts = this.texts(one, place.rows);
      else column.numbers = this.numbers(one, place.rows);
      columns[one.name] = column;
    }
    return { name: place.name, rows: place.rows, columns };
  }

  /** The values of a row as text: all digits of integers, nothing for a null. */
  *cells(place: TablePlace): Generator<string[]> {
    const columns = place.columns.map((one) => {
      const texts = one.type === "text" ? this.texts(one, place.rows) : undefined;
      const values = texts ?? this.values(one, place.rows);
      return (row: number) => (this.isValid(one, row) ? String(values[row]) : "");
    });
    for (let row = 0; row < place.rows; row += 1) yield columns.map((cell) => cell(row));
  }

  private isValid(one: Place, row: number): boolean {
    return one.valid === null || new Uint8Array(this.exports.memory.buffer, one.valid + row, 1)[0] === 1;
  }

  private values(one: Place, rows: number): ArrayLike<number | bigint | boolean> {
    const buffer = this.exports.memory.buffer;
    switch (one.type) {
      case "uint8":
        return new Uint8Array(buffer, one.values, rows);
      case "uint32":
        return new Uint32Array(buffer, one.values, rows);
      case "uint64":
        return new BigUint64Array(buffer, one.values, rows);
      case "int64":
        return new BigInt64Array(buffer, one.values, rows);
      case "float64":
        return new Float64Array(buffer, one.values, rows);
      default:
        return Array.from(new Uint8Array(buffer, one.values, rows), (byte) => byte === 1);
    }
  }

  private numbers(one: Place, rows: number): Float64Array {
    const values = this.values(one, rows);
    const numbers = new Float64Array(rows);
    for (let row = 0; row < rows; row += 1) numbers[row] = this.isValid(one, row) ? Number(values[row]) : Number.NaN;
    return numbers;
  }

  private texts(one: Place, rows: number): string[] {
    const offsets = new Uint32Array(this.exports.memory.buffer, one.offsets ?? 0, rows + 1);
    return Array.from({ length: rows }, (_, row) => {
      const from = offsets[row]!;
      return this.text(one.values + from, offsets[row + 1]! - from);
    });
  }
}
