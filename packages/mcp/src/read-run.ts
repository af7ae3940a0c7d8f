import type { RunStream } from 'nest-agent-query';
import { holdAnswer, type HostResponse, rawResponse } from 'nest-agent-query/protocol';
import type { CallLog } from './call-log.js';

/** Why a run is not read further: it has ended, it asks, the service stops, or the caller has left. */
export type Stop = 'ended' | 'asks' | 'stopping' | 'left';

export interface Reading {
  /** What is read is held for it. */
  response: HostResponse;
  /** Aborted when the caller leaves. */
  signal: AbortSignal;
  /** The number of the last envelope with questions that the caller knows. */
  known?: number;
  /** Something was read. */
  onNews: () => void;
  /** The run has asked something new. @returns whether the caller waits for the answer */
  onAsks: () => Promise<boolean>;
}

/**
 * Reads the log of a run for one call, whose caller follows the run as long.
 *
 * @throws {QueryError} `at_capacity`: the answer would hold too much
 */
export async function readRun(
  stream: RunStream,
  log: CallLog,
  { response, signal, known = 0, onNews, onAsks }: Reading,
): Promise<Stop> {
  const { follow, read } = await stream.admitted;
  log.log = read;
  return new Promise<Stop>((resolve, reject) => {
    let asked = known;
    const finish = (stop: Stop) => {
      signal.removeEventListener('abort', leave);
      resolve(stop);
    };
    const fail = (error: unknown) => {
      signal.removeEventListener('abort', leave);
      follower.leave();
      reject(error);
    };
    const follower = follow({
      write: (slice) => {
        log.read(slice);
        holdAnswer(rawResponse(response), log.held);
        onNews();
        return true;
      },
      end: () => finish('ended'),
      fail,
      disconnect: () => finish('stopping'),
      hold: (asks) => {
        if (!asks || log.asked <= asked) return;
        asked = log.asked;
        onAsks().then((isWaiting) => {
          if (!isWaiting && follower.leave()) finish('asks');
        }, fail);
      },
    });
    const leave = () => {
      if (follower.leave()) finish('left');
    };
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
    else follower.notify();
  });
}
