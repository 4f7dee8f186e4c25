// The engine as the page sees it: one worker, the newest run first, stale runs cancelled.

import { Refusal } from "./module";
import type { Answer, FromWorker, Request, ToWorker } from "./protocol";

/** A run that a newer one waits for is stopped after this time. Most runs end sooner, and are worth showing. */
const PATIENCE_MS = 250;
/** A module whose memory has grown beyond this is made anew: the memory of WebAssembly does not shrink. */
const MEMORY_LIMIT = 512 * 2 ** 20;

/** The request was replaced by a newer one. */
export class Stale extends Error {}

interface Job {
  request: Request;
  resolve(answer: unknown): void;
  reject(reason: unknown): void;
}

export class Engine {
  private worker!: Worker;
  private ready!: Promise<void>;
  private sequence = 0;
  private current: (Job & { id: number; begun: number }) | undefined;
  private waiting: Job[] = [];
  private timer = 0;
  /** Workers made so far, for tests. */
  workers = 0;

  constructor(
    private readonly module: WebAssembly.Module,
    private readonly source: string,
  ) {
    this.replace();
  }

  /** Carries out a request. A run or a look replaces the one of its kind that has not ended. */
  ask<R extends Request>(request: R): Promise<Answer<R>> {
    return new Promise<Answer<R>>((resolve, reject) => {
      const replaces = request.do === "run" || request.do === "look";
      if (replaces) {
        for (const job of this.waiting.filter((one) => one.request.do === request.do)) job.reject(new Stale());
        this.waiting = this.waiting.filter((one) => one.request.do !== request.do);
      }
      const job: Job = { request, resolve: resolve as (answer: unknown) => void, reject };
      if (request.do === "run") this.waiting.unshift(job);
      else this.waiting.push(job);
      this.next();
      this.watch();
    });
  }

  /** Stops a run in progress once a newer one has waited for it long enough. */
  private watch(): void {
    const stale = (): boolean => this.current !== undefined && this.waiting.some((one) => one.request.do === "run");
    if (this.timer || !stale()) return;
    const left = this.current!.begun + PATIENCE_MS - performance.now();
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (!stale()) return;
      if (performance.now() - this.current!.begun < PATIENCE_MS) {
        this.watch();
        return;
      }
      const job = this.current!;
      if (job.request.do === "run" || job.request.do === "look") job.reject(new Stale());
      else this.waiting.push(job);
      this.replace();
    }, Math.max(0, left));
  }

  private next(): void {
    if (this.current || this.waiting.length === 0) return;
    const job = this.waiting.shift()!;
    this.sequence += 1;
    const id = this.sequence;
    this.current = { ...job, id, begun: performance.now() };
    void this.ready.then(() => {
      if (this.current?.id === id) this.send({ id, request: job.request });
    });
  }

  private send(message: ToWorker): void {
    this.worker.postMessage(message);
  }

  private replace(): void {
    // Undefined before the first one.
    (this.worker as Worker | undefined)?.terminate();
    this.current = undefined;
    this.workers += 1;
    const worker = new Worker(this.source);
    this.worker = worker;
    this.ready = new Promise((resolve, reject) => {
      worker.onerror = (event) => reject(new Error(event.message));
      worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
        if (worker !== this.worker) return;
        if ("ready" in data) resolve();
        else this.receive(data);
      };
    });
    this.send({ start: this.module });
    this.next();
  }

  private receive(data: Exclude<FromWorker, { ready: true }>): void {
    const job = this.current;
    if (job?.id !== data.id) return;
    this.current = undefined;
    if ("faults" in data) {
      if (data.broken) this.replace();
      job.reject(new Refusal(data.faults, data.broken));
    } else {
      const memory = (data.answer as { memory_bytes?: number }).memory_bytes ?? 0;
      if (memory > MEMORY_LIMIT) this.replace();
      job.resolve(data.answer);
    }
    this.next();
  }
}

/** The text of the WebAssembly module (gzip in base64, beside the page) as a module. */
export async function compile(text: string): Promise<WebAssembly.Module> {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}
