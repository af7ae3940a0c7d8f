import { QueryError, type RunStream } from 'nest-agent-query';
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

function stopping(): QueryError {
  const detail = 'The service is shutting down. The run may go on: ask again in a moment.';
  return new QueryError('draining', detail, { retryAfter: 1 });
}
