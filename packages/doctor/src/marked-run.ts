import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Caller } from './caller.js';
import type { Exchange } from './exchange.js';
import { jsonOf, whatCame } from './problem-body.js';
import { bodyOf, readStream, type Timetable, type TimedStream } from './timed-stream.js';

const LIMIT_MS = 15_000;

/** How long the doctor waits between two looks at a run: this at first, and later a tenth of the time that has passed. */
const LOOK_MS = 150;
const LONGEST_LOOK_MS = 2_000;

/** How the answer to a run is read. */
interface Reading {
  /** After so many milliseconds the doctor leaves. */
  limitMs: number;
  /** The query string of the URL. */
  search?: string;
}

/**
 * A run of the agent `diagnostic` that the doctor finds again, also where nothing of its answer has arrived: then in the list of runs,
 * which a host on Express may not show below the path of another agent.
 */
export class MarkedRun {
  readonly #mark = randomUUID();
  #path: string | undefined;
  /** What came in place of the run, for people. */
  answer = 'it is not in the list of runs';

  constructor(private readonly caller: Caller) {}

  /** Begins the run, and reads its answer until it ends or the doctor leaves. */
  async begin(timetable: Timetable, { search = '', ...reading }: Reading): Promise<TimedStream> {
    const response = await this.caller.exchange({
      method: 'POST',
      path: `${this.caller.diagnosticPath}${search}`,
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      write: (request) => void request.end(bodyOf(timetable, { doctor: this.#mark })),
      ...reading,
    });
    const stream = readStream(response);
    if (stream.runId !== undefined) this.#path = `${this.caller.diagnosticPath}/${stream.runId}`;
    return stream;
  }

  /**
   * Looks at the run until it has ended.
   *
   * @returns how many milliseconds that took; `'unknown'` if the run cannot be looked at; undefined if it has not ended within the time
   */
  async endsWithin(ms: number): Promise<number | 'unknown' | undefined> {
    const start = performance.now();
    for (;;) {
      const hasEnded = await this.#hasEnded();
      const passed = performance.now() - start;
      if (hasEnded === undefined) return 'unknown';
      if (hasEnded) return passed;
      if (passed >= ms) return undefined;
      await wait(Math.min(Math.max(LOOK_MS, passed / 10), LONGEST_LOOK_MS, ms - passed));
    }
  }

  /** Cancels the run, so that it does not go on for nobody. */
  async cancel(): Promise<void> {
    if (this.#path === undefined) return;
    await this.caller.exchange({ method: 'DELETE', path: this.#path, limitMs: LIMIT_MS });
  }

  /** Undefined if the run cannot be looked at. */
  async #hasEnded(): Promise<boolean | undefined> {
    const { diagnosticPath } = this.caller;
    const run =
      this.#path === undefined
        ? await this.#get(`${diagnosticPath}?metadata.doctor=${this.#mark}&limit=1`)
        : await this.#get(this.#path);
    if (run === undefined) return undefined;
    this.#path = `${diagnosticPath}/${String(run['id'])}`;
    return run['endedAt'] !== null;
  }

  async #get(path: string): Promise<Record<string, unknown> | undefined> {
    const response = await this.caller.exchange({
      method: 'GET',
      path,
      headers: { accept: 'application/json' },
      limitMs: LIMIT_MS,
      // A proxy that sets Accept gets the stream of the run.
      isEnough: (exchange) => !isJson(exchange),
    });
    const value = jsonOf(response);
    const run = Array.isArray(value?.['runs']) ? (value['runs'] as unknown[])[0] : value;
    if (isRun(run)) return run;
    if (response.head?.status !== 200 || !isJson(response)) this.answer = whatCame(response);
    return undefined;
  }
}

function isRun(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && 'id' in value && 'endedAt' in value;
}

function isJson({ head }: Exchange): boolean {
  return head?.headers['content-type']?.startsWith('application/json') === true;
}
