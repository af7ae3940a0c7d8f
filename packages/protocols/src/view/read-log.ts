import { Buffer } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { type Envelope, QueryError, type RunStream } from 'nest-agent-query';
import {
  hasLeft,
  holdAnswer,
  type HostResponse,
  type LogSlice,
  rawResponse,
  type StreamForm,
} from 'nest-agent-query/protocol';

/** Of which response the caller waits. */
export interface Reading {
  response: HostResponse;
  /** The number of the envelope after which nothing is read. Default: until the form is over, or the log has ended. */
  until?: number;
}

/**
 * Lets a form read a log from its beginning, for an answer that is no stream. As long as it reads, the caller follows the run.
 *
 * @throws {QueryError} `draining`: the service stops before · `at_capacity`: the answer would hold too much
 */
export async function readLog(
  stream: RunStream,
  form: StreamForm,
  { response, until }: Reading,
): Promise<void> {
  const { follow, read } = await stream.admitted;
  form.log = read;
  if (until === 0) return;
  const raw = rawResponse(response);
  await new Promise<void>((resolve, reject) => {
    const isRead = ({ first, count }: LogSlice) => form.isOver || first + count > (until ?? Infinity);
    const follower = follow({
      write: (slice) => {
        form.framesOf(slice);
        holdAnswer(raw, form.held);
        if (isRead(slice) && follower.leave()) finish();
        return true;
      },
      end: () => finish(),
      fail: (error) => finish(error as Error),
      disconnect: () => finish(stopping()),
    });
    const left = () => {
      if (follower.leave()) finish();
    };
    const finish = (error?: Error) => {
      raw.off('close', left);
      if (error === undefined) resolve();
      else reject(error);
    };
    raw.once('close', left);
    if (hasLeft(raw)) left();
    else follower.notify();
  });
}

/**
 * Lets a form read a log from its beginning as far as it goes, without following the run.
 *
 * @returns how many envelopes there were
 * @throws {QueryError} `cursor_expired` or `not_found`: the log is no longer kept
 */
export async function readPresent(stream: RunStream, form: StreamForm): Promise<number> {
  const { run, read } = await stream.admitted;
  const { events } = run!;
  for (let after = 0; after < events && !form.isOver;) {
    const slice = await read(after);
    if (slice.count === 0) break;
    form.framesOf(slice);
    after = slice.first + slice.count - 1;
    // A long log must not hold the event loop.
    await setImmediate();
  }
  return events;
}

/** Lets a form read envelopes that are no log, such as those of a turn. */
export function readEnvelopes(envelopes: Envelope[], form: StreamForm): void {
  const lines = envelopes.map((envelope) => JSON.stringify(envelope)).join('\n');
  const endOffset = Buffer.byteLength(lines);
  if (lines !== '') form.framesOf({ lines, first: 1, count: envelopes.length, endOffset, ended: true });
}

function stopping(): QueryError {
  const detail = 'The service is shutting down. The run may go on: ask again in a moment.';
  return new QueryError('draining', detail, { retryAfter: 1 });
}
