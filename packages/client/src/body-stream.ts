/** Told how many bytes of a body were handed over for sending, and how many it has, if known. */
export type OnSent = (bytes: number, total: number | undefined) => void;

/** A body that is read while it is sent. */
export class BodyStream {
  readonly stream: ReadableStream<Uint8Array>;
  /** When the last byte was handed over for sending. */
  readonly whenSent: Promise<void>;
  /** Why it could not be read, if that is so: `fetch` would hide it behind an error of its own. */
  failure: unknown;
  /** Ends the reading. `fetch` of Node does not, where the connection was cut while the source is silent. */
  readonly leave: (reason?: unknown) => void;

  /**
   * @param read begins to read the chunks; its signal aborts when they are not needed any more
   * @param size its bytes, if known
   */
  constructor(
    read: (signal: AbortSignal) => AsyncGenerator<Uint8Array>,
    size: number | undefined,
    onSent: OnSent | undefined,
    signal: AbortSignal,
  ) {
    let sent = 0;
    let end!: () => void;
    this.whenSent = new Promise((resolve) => (end = resolve));
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const reading = new AbortController();
    const chunks = read(reading.signal);
    const abort = () => {
      controller.error(signal.reason);
      this.leave(signal.reason);
    };
    // The signal may last longer than the body, and would keep it.
    const release = () => signal.removeEventListener('abort', abort);
    this.leave = (reason) => {
      release();
      reading.abort(reason);
      void chunks.return(undefined).catch(() => undefined);
    };
    this.stream = new ReadableStream<Uint8Array>(
      {
        // `fetch` of Node reads on after it was aborted.
        start: (started) => {
          controller = started;
          signal.addEventListener('abort', abort);
        },
        pull: async () => {
          try {
            if (sent > 0) onSent?.(sent, size);
            const next = await chunks.next();
            if (!next.done) {
              sent += next.value.length;
              return controller.enqueue(next.value);
            }
            release();
            end();
            controller.close();
          } catch (error) {
            release();
            if (!reading.signal.aborted) this.failure = error;
            throw error;
          }
        },
        cancel: this.leave,
      },
      { highWaterMark: 0 },
    );
  }
}

/** Windows and workers of browsers have a location; Node, Bun and workers of servers have none. */
export function isBrowser(): boolean {
  return (globalThis as { location?: unknown }).location !== undefined;
}
