import type { Readable } from 'node:stream';

/**
 * Reads a request to its end and ignores the bytes: a sender that is still sending reads the answer only afterwards.
 *
 * Resolves when the body has ended, the sender has left, `maxBytes` have come or `maxMs` milliseconds have passed. The
 * request is paused then; destroy its socket. Never rejects.
 */
export function drain(request: Readable, maxBytes: number, maxMs: number): Promise<void> {
  return new Promise((resolve) => {
    let remaining = maxBytes;
    const stop = () => {
      clearTimeout(timer);
      request.off('data', onData).off('end', stop).off('error', stop).off('close', stop).pause();
      resolve();
    };
    const onData = (chunk: Buffer) => {
      remaining -= chunk.length;
      if (remaining <= 0) stop();
    };
    const timer = setTimeout(stop, maxMs);
    if (request.readableEnded || request.destroyed) return stop();
    request.on('data', onData).on('end', stop).on('error', stop).on('close', stop).resume();
  });
}
