import type { ReadLog } from '../event-log/log-texts.js';
import type { LogSlice } from '../ports/run-store.js';
import { type Frames, framesOf } from './frames.js';

/** How long clients wait before they resume a run that asks, in milliseconds. */
const ASKING_RETRY_MS = 15_000;

/** Why a response ends before its run: the service stops or is slow, or the run asks and nothing may follow for long. */
export type Interruption = 'disconnected' | 'asking';

/**
 * How one response shows the log of a run: in the envelopes of this service, or in the events of another protocol. A form belongs to one
 * response, and may keep what it needs from one slice to the next.
 *
 * @example
 * class LineForm extends StreamForm {
 *   framesOf({ lines }: LogSlice) {
 *     return framesOfText(`data: ${lines.replaceAll('\n', '\n\ndata: ')}\n\n`);
 *   }
 * }
 */
export abstract class StreamForm {
  /** Set by a form that has written its last event, although the log may go on: the response ends then. Default false. */
  isOver = false;

  /** Reads the log again, for a form that repeats long texts. Set before anything is written. */
  log: ReadLog | undefined;

  /** How many characters the form holds of what it has read. Default 0. */
  get held(): number {
    return 0;
  }

  /** Further headers of the response, by name. Default: none. */
  headers(): Record<string, string> {
    return {};
  }

  /** What comes before the first slice. Default: nothing. */
  beginning(): string {
    return '';
  }

  /** The events of a slice of the log: they may be none. */
  abstract framesOf(slice: LogSlice): Frames;

  /** What is written while the run is silent (WHATWG HTML §9.2.7). Default: a comment. */
  get keepAlive(): string {
    return ':\n';
  }

  /** What is written where the response ends before its run. Default: nothing. */
  interruption(_why: Interruption): string {
    return '';
  }
}

/** The envelopes of the log: `data:` lines only, or with `id:`, `retry:` and comments. */
export class EnvelopeForm extends StreamForm {
  /**
   * @param isFull whether the client accepts `text/event-stream` by name: it reads more than `data:` lines
   * @param run the run that the `id:` of each event names, and its path; undefined where the envelopes do not come from a run
   * @param retryMs how long clients wait before they connect again
   */
  constructor(
    private readonly isFull: boolean,
    private readonly run: { id: string; path: string } | undefined,
    private readonly retryMs: number,
  ) {
    super();
  }

  override headers(): Record<string, string> {
    return this.run ? { 'Content-Location': this.run.path } : {};
  }

  override beginning(): string {
    return this.#retry(this.retryMs);
  }

  override framesOf(slice: LogSlice): Frames {
    return framesOf(slice, this.isFull ? this.run?.id : undefined);
  }

  override get keepAlive(): string {
    return this.isFull ? ':\n' : '\n\n';
  }

  override interruption(why: Interruption): string {
    return this.#retry(why === 'asking' ? ASKING_RETRY_MS : this.retryMs);
  }

  #retry(ms: number): string {
    return this.isFull ? `retry: ${ms}\n` : '';
  }
}
