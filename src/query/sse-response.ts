import type { ServerResponse } from 'node:http';
import type { Follower, Sink } from './follower.js';
import type { LogSlice } from './ports/run-store.js';

/** Line ends of Unicode that JSON leaves as they are. Many clients split lines at them, so they are written as escapes. */
const LINE_END = /[\u0085\u2028\u2029]/;
const LINE_ENDS = new RegExp(LINE_END, 'g');

/** How a stream is written: `plain` is `data:` lines and nothing else, `full` has `id:`, `retry:` and comments too. */
export type Profile = 'plain' | 'full';

/** The text that was written last, by any response. */
let latest: { slice: LogSlice; runId: string | undefined; text: string } | undefined;

/**
 * One response that follows a run: writes a stretch of its log with one call, and takes no more until the connection
 * has taken that (WHATWG HTML §9.2, "Server-sent events").
 */
export class SseResponse implements Sink {
  follower: Follower | undefined;
  /** When something was written for the last time, in milliseconds since the epoch. */
  wroteAt = Date.now();

  constructor(
    private readonly response: ServerResponse,
    private readonly profile: Profile,
    private readonly runId: string | undefined,
    private readonly retryMs: number,
  ) {}

  /** Sends the headers, and what begins the stream. */
  open(location: string | undefined): void {
    // Headers leave at the end of this turn of the event loop, in one write with what is there to be read by then.
    const { socket } = this.response;
    socket?.cork();
    setImmediate(() => socket?.uncork());
    this.response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-cache, no-transform',
      'X-Accel-Buffering': 'no',
      ...(location !== undefined && { 'Content-Location': location }),
    });
    this.response.flushHeaders();
    if (this.profile === 'full') this.#write(`retry: ${this.retryMs}\n\n`);
  }

  deliver(slice: LogSlice): boolean {
    return this.#write(this.#frames(slice), slice.ended);
  }

  /** A sign of life for whoever stands between. */
  keepAlive(): void {
    if (!this.response.writableNeedDrain) this.#write(this.profile === 'plain' ? '\n\n' : ':\n\n');
  }

  end(): void {
    this.response.end();
  }

  fail(): void {
    // Without `done` the caller knows that the stream was cut; asking again it is told why.
    this.response.end();
  }

  cut(): void {
    if (this.profile === 'full') this.#write(`retry: ${this.retryMs}\n\n`);
    this.response.end();
  }

  /** Gives up on a caller who does not read. */
  destroy(): void {
    this.response.destroy();
  }

  /** Followers of one run that stand at the same place share their text, and with it the memory that it takes. */
  #frames(slice: LogSlice): string {
    const runId = this.profile === 'plain' ? undefined : this.runId;
    if (latest?.slice !== slice || latest.runId !== runId) {
      const { envelopes, first } = slice;
      const text = runId === undefined ? plainFrames(envelopes) : fullFrames(envelopes, first, runId);
      latest = { slice, runId, text: withoutLineEnds(text) };
    }
    return latest.text;
  }

  #write(text: string, isLast = false): boolean {
    this.wroteAt = Date.now();
    const { socket } = this.response;
    // Else Node would come back to each of thousands of sockets once more, when it has left the processor's caches.
    socket?.cork();
    const takesMore = this.response.write(text);
    if (isLast) setImmediate(() => socket?.uncork());
    else socket?.uncork();
    if (takesMore) return true;
    this.response.once('drain', () => this.follower?.wake());
    return false;
  }
}

function withoutLineEnds(text: string): string {
  if (!LINE_END.test(text)) return text;
  return text.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function plainFrames(envelopes: readonly string[]): string {
  let text = '';
  for (const envelope of envelopes) text += `data: ${envelope}\n\n`;
  return text;
}

function fullFrames(envelopes: readonly string[], first: number, runId: string): string {
  let text = '';
  let seq = first;
  for (const envelope of envelopes) text += `id: ${runId}.${seq++}\ndata: ${envelope}\n\n`;
  return text;
}
