import { OutgoingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Follower, Sink } from '../event-log/follower.js';
import { holdAnswer } from './answer-memory.js';
import { asciiFrames, type Frames, framesOfText } from './frames.js';
import type { Interruption, StreamForm } from './stream-form.js';
import { joinedPieces } from './write-pieces.js';
import type { StreamOptions } from '../options/query.options.js';
import type { Clock, Timer } from '../platform/clock.js';
import { hasLeft } from '../platform/host.js';
import type { Piece } from '../platform/write-json.js';
import type { LogSlice } from '../ports/run-store.js';

/** How many ticks of the keep-alive timer a stream may be idle. */
export const IDLE_TICKS = 10;

/**
 * One response that follows a run (WHATWG HTML §9.2, "Server-sent events"). It writes each slice of the log with one call, and
 * takes no more until the connection has taken that.
 */
export class SseResponse implements Sink {
  follower: Follower | undefined;
  #socket: Socket | undefined;
  /** The connection takes no more at present. */
  #isBlocked = false;
  /** Ticks of the keep-alive timer since the last write. */
  #idleTicks = 0;
  #holdTimer: Timer | undefined;
  /** Long texts of the last slice are being written. */
  #isInRest = false;
  /** The response ends behind them. */
  #endsBehindRest = false;
  #onTaken: (() => void) | undefined;

  constructor(
    private readonly response: ServerResponse,
    private readonly form: StreamForm,
    private readonly options: Pick<StreamOptions, 'holdMs'>,
    private readonly clock: Clock,
  ) {}

  /** Sends these headers and those of every stream, and the beginning of the stream. */
  open(headers: Record<string, string>): void {
    // The headers leave at the end of this tick, in one write with the envelopes that the log has by then.
    const { socket } = this.response;
    socket?.cork();
    setImmediate(() => socket?.uncork());
    this.response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-cache, no-transform',
      'X-Accel-Buffering': 'no',
      ...headers,
    });
    this.response.flushHeaders();
    this.#socket = chunkSocket(this.response);
    this.#write(this.form.beginning());
  }

  write(slice: LogSlice): boolean {
    const frames = this.form.framesOf(slice);
    holdAnswer(this.response, this.form.held);
    // The last events leave in one write with the end of the response.
    if (slice.ended && !frames.rest) this.response.socket?.cork();
    const takesMore = frames.bytes === 0 || this.#send(frames);
    if (frames.rest) {
      void this.#sendRest(frames.rest);
      return false;
    }
    if (this.form.isOver && this.follower?.leave()) this.end();
    return takesMore;
  }

  /** Sends a keep-alive after `IDLE_TICKS` ticks without a write. A blocked connection is not idle. */
  keepAlive(): void {
    if (++this.#idleTicks < IDLE_TICKS || this.#isBlocked || this.#isInRest) return;
    this.#write(this.form.keepAlive);
  }

  end(): void {
    if (this.#isInRest) {
      this.#endsBehindRest = true;
      return;
    }
    const { socket } = this.response;
    this.response.end();
    socket?.uncork();
  }

  fail(): void {
    // A stream without `done` can be resumed. The next request gets the reason as its status.
    this.response.end();
  }

  disconnect(): void {
    this.#interrupt('disconnected');
  }

  /** While the run asks, the stream stays open for some time, and then ends without `done`. */
  hold(asks: boolean): void {
    // A caller who is slow to read what is there already is not waiting for an answer.
    if (!asks || this.#isInRest) return this.#stopHolding();
    this.#holdTimer ??= this.clock.start('holdMs', this.options.holdMs, () => {
      if (this.follower?.leave()) this.#interrupt('asking');
    });
  }

  /** Nothing is written any more. */
  closed(): void {
    this.#stopHolding();
    this.#onTaken?.();
  }

  destroy(): void {
    this.response.destroy();
  }

  #stopHolding(): void {
    if (!this.#holdTimer) return;
    this.clock.stop(this.#holdTimer);
    this.#holdTimer = undefined;
  }

  #interrupt(why: Interruption): void {
    if (!this.#isInRest) this.#write(this.form.interruption(why));
    this.response.end();
  }

  /** Writes what has long texts as the connection takes it. The follower reads on behind it. */
  async #sendRest(rest: Iterable<Piece>): Promise<void> {
    this.#isInRest = true;
    try {
      for await (const text of joinedPieces(rest)) {
        if (this.response.writableEnded || hasLeft(this.response)) return;
        if (!this.#send(framesOfText(text))) await new Promise<void>((resolve) => (this.#onTaken = resolve));
      }
    } catch {
      this.follower?.leave();
      return this.fail();
    }
    this.#isInRest = false;
    this.#onTaken = undefined;
    const isOver = this.form.isOver && this.follower?.leave();
    if (isOver || this.#endsBehindRest) this.end();
    else this.follower?.drained();
  }

  #write(text: string): void {
    if (text !== '') this.#send(asciiFrames(text));
  }

  #send(frames: Frames): boolean {
    this.#idleTicks = 0;
    const socket = this.#socket?.writable ? this.#socket : undefined;
    const takesMore = socket ? writeChunk(socket, frames) : this.response.write(frames.text, frames.encoding);
    if (takesMore) return true;
    this.#isBlocked = true;
    (socket ?? this.response).once('drain', () => {
      this.#isBlocked = false;
      if (this.#isInRest) this.#onTaken?.();
      else this.follower?.drained();
    });
    return false;
  }
}

/**
 * Returns the socket of a response whose headers have been written, if chunks of the body may be written to it directly.
 *
 * Node's `response.write` passes a chunk to the socket in four pieces. For short texts this takes half as long again as one
 * piece with the same bytes, so chunks are built here. This is not possible where a middleware has replaced
 * `response.write` (compression, counting), with HTTP/1.0 (no chunks), with HTTP/2 (frames of its own), and for a pipelined
 * request, which has no socket yet.
 */
function chunkSocket(response: ServerResponse): Socket | undefined {
  const isOurs = response.chunkedEncoding && response.write === OutgoingMessage.prototype.write;
  return (isOurs && response.socket) || undefined;
}

/** Writes one chunk (RFC 9112 §7.1). Returns whether the connection takes more at once. */
function writeChunk(socket: Socket, { text, bytes, encoding }: Frames): boolean {
  const takesMore = socket.write(`${bytes.toString(16)}\r\n${text}\r\n`, encoding);
  // Node reports a long text as too much even if the system has already taken all of it.
  return takesMore || socket.writableLength === 0;
}
