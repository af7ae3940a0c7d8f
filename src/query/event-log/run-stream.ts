import { Logger } from '@nestjs/common';
import { Observable, type Subscription } from 'rxjs';
import { Followers } from './followers.js';
import { doneText, envelopeText } from '../contract/envelopes.js';
import { Follower, type Sink } from './follower.js';
import { EventLog } from './event-log.js';
import type { Envelope, RunEnd, RunView } from '../contract/wire.js';

const logger = new Logger('Query');

/** A run that was admitted or found, ready to be followed. */
export interface FollowedRun {
  /** Undefined where there is no run behind the stream. */
  run: RunView | undefined;
  /** Makes a follower that delivers to a sink from its first `ring` on; it must be left when its reader goes. */
  follow: (sink: Sink) => Follower;
}

/**
 * The envelopes of a run as an Observable: what is in its log after the cursor, then what comes, and at last `done`.
 *
 * Every subscriber follows the log by itself; unsubscribing leaves the run to its disconnect policy. The stream fails
 * with a `QueryError` where the query is not admitted or the run is not found. Those who write to a connection use
 * `admitted` instead, and pull the log's text as fast as the connection takes it.
 */
export class RunStream extends Observable<Envelope> {
  /** @param admitted resolves when there is a run to follow; rejects with a `QueryError` if there will be none */
  constructor(readonly admitted: Promise<FollowedRun>) {
    super((subscriber) => {
      let follower: Follower | undefined;
      const sink: Sink = {
        deliver: ({ lines }) => {
          for (const text of lines.split('\n')) subscriber.next(JSON.parse(text) as Envelope);
          return true;
        },
        end: () => subscriber.complete(),
        fail: (error) => subscriber.error(error),
        disconnect: () => subscriber.complete(),
      };
      admitted.then(
        ({ follow }) => {
          follower = follow(sink);
          // Who has left meanwhile has followed, and leaves the run to its disconnect policy.
          if (subscriber.closed) follower.leave();
          else follower.notify();
        },
        (error: unknown) => subscriber.error(error),
      );
      return () => follower?.leave();
    });
    // Whoever never subscribes must not bring the process down with an unhandled rejection.
    admitted.catch(() => undefined);
  }
}

/** What can be followed of a stream of envelopes: the run behind it, or, where there is none, a log of its own. */
export function followed(stream: Observable<Envelope>): FollowedRun | Promise<FollowedRun> {
  if (stream instanceof RunStream) return stream.admitted;
  const log = new EventLog();
  let subscription: Subscription | undefined;
  const audience = new Followers(
    () => undefined,
    () => subscription?.unsubscribe(),
  );
  const append = (text: string) => {
    log.append(text);
    audience.notify();
  };
  const end = (runEnd: RunEnd) => {
    if (!log.ended) append(doneText(runEnd));
    log.end();
  };
  const fail = (error: unknown) => {
    logger.error('A stream of envelopes failed', error instanceof Error ? error.stack : error);
    end({ status: 'failed', error: { code: 'internal', message: 'The service failed.' } });
  };
  return {
    run: undefined,
    follow: (sink) => {
      const follower = new Follower(log, 0, sink, audience);
      subscription = stream.subscribe({
        next: (envelope) => {
          try {
            if (envelope.type === 'done') end(envelope.data as RunEnd);
            else if (!log.ended) append(envelopeText(envelope, Infinity));
          } catch (error) {
            fail(error);
          }
        },
        error: fail,
        complete: () => end({ status: 'completed' }),
      });
      return follower;
    },
  };
}
