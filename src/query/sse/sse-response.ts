import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { chunkSocket, writeChunk } from './chunks.js';
import type { Follower, Sink } from '../event-log/follower.js';
import { asciiFrames, type Frames, framesOf } from './frames.js';
import type { LogSlice } from '../ports/run-store.js';

/** How a stream is written: `plain` is `data:` lines and nothing else, `full` has `id:`, `retry:` and comments too. */
export type Profile = 'plain' | 'full';

/**
 * One response that follows a run: writes a stretch of its log with one call, and takes no more until the connection
 * has taken that (WHATWG HTML §9.2, "Server-sent events").
 */
export class SseResponse implements Sink {
  follower: Follower | undefined;
  #socket: Socket | undefined;
  /** The connection does not take more at present. */
  #isFull = false;
  /** How often it was looked at since something was written. */
  #looks = 0;

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
    this.#socket = chunkSocket(this.response);
    this.#retry();
  }

  deliver(slice: LogSlice): boolean {
    // What ends the response leaves together with it.
    if (slice.ended) this.response.socket?.cork();
    return this.#write(framesOf(slice, this.profile === 'plain' ? undefined : this.runId));
  }

  /** Shows a sign of life to whoever stands between, if nothing was written since so many looks. */
  look(most: number): void {
    if (++this.#looks < most || this.#isFull) return;
    this.#write(asciiFrames(this.profile === 'plain' ? '\n\n' : ':\n\n'));
  }

  end(): void {
    const { socket } = this.response;
    this.response.end();
    socket?.uncork();
  }

  fail(): void {
    // Without `done` the caller knows that the stream was cut; asking again it is told why.
    this.response.end();
  }

  disconnect(): void {
    this.#retry();
    this.response.end();
  }

  /** Gives up on a caller who does not read. */
  destroy(): void {
    this.response.destroy();
  }

  /** Tells when to come back. */
  #retry(): void {
    if (this.profile === 'full') this.#write(asciiFrames(`retry: ${this.retryMs}\n\n`));
  }

  #write(frames: Frames): boolean {
    this.#looks = 0;
    const socket = this.#socket?.writable ? this.#socket : undefined;
    const takesMore = socket ? writeChunk(socket, frames) : this.response.write(frames.text, frames.encoding);
    if (takesMore) return true;
    this.#isFull = true;
    (socket ?? this.response).once('drain', () => this.#drained());
    return false;
  }

  #drained(): void {
    this.#isFull = false;
    this.follower?.drained();
  }
}
