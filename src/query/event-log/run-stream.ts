import { Logger } from '@nestjs/common';
import { Observable, type Subscription } from 'rxjs';
import { envelopeText } from '../contract/envelope-text.js';
import { doneText } from '../contract/envelopes.js';
import type { Envelope, RunEnd, RunView } from 'nest-agent-query-client';
import { EventLog } from './event-log.js';
import { Follower, type Sink } from './follower.js';
import { Followers } from './followers.js';

/** A run that can be followed. */
export interface FollowedRun {
  /** Undefined where the envelopes do not come from a run. */
  run: RunView | undefined;
  /** Makes a follower, which writes to the sink after its first `notify`. Call its `leave` when the reader goes. */
  follow: (sink: Sink) => Follower;
}

/**
 * The envelopes of a run as an Observable: those in its log after the cursor, then new ones as they come, and `done` at last.
 *
 * Each subscriber follows the log on its own. Unsubscribing only leaves the run; its disconnect policy then applies. The
 * stream fails with a `QueryError` if the query is not admitted or the run is not found.
 *
 * **Why there is a fast path beside the Observable.** An Observable pushes: it calls a function per envelope, and cannot wait
 * for a slow connection. A connection needs the opposite: text of many envelopes at once, when it can take it. The SSE
 * interceptor therefore does not subscribe. It calls `RunStream.from`, waits for `admitted`, and follows the log directly: a
 * thousand envelopes of one tick then cost one write, and a client that stops reading costs a cursor. Measured, this makes
 * bursts more than ten times as fast as `@Sse()`. An Observable that is not a `RunStream`, for example the stub of a test,
 * gets a log of its own in `RunStream.from`, so that there is only one way to write a stream.
 *
 * @example
 * agentService.query(query).subscribe(({ type, data }) => console.log(type, data));
 */
export class RunStream extends Observable<Envelope> {
  /** @param admitted resolves with the run to follow; rejects with a `QueryError` if there is none */
  constructor(readonly admitted: Promise<FollowedRun>) {
    super((subscriber) => {
      let follower: Follower | undefined;
      const sink: Sink = {
        write: ({ lines }) => {
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
          // A subscriber that has left meanwhile counts as a follower that left: the disconnect policy applies.
          if (subscriber.closed) follower.leave();
          else follower.notify();
        },
        (error: unknown) => subscriber.error(error),
      );
      return () => follower?.leave();
    });
    // Without a subscriber, the rejection must not crash the process.
    admitted.catch(() => undefined);
  }

  /**
   * Any Observable of envelopes as a `RunStream`: a `RunStream` is returned unchanged, another one is written into a log of
   * its own while it is followed. A `done` of its own ends it; otherwise `done` says how the Observable ended.
   */
  static from(envelopes: Observable<Envelope>): RunStream {
    return envelopes instanceof RunStream ? envelopes : new RunStream(Promise.resolve(logged(envelopes)));
  }
}

function logged(envelopes: Observable<Envelope>): FollowedRun {
  const log = new EventLog();
  let subscription: Subscription | undefined;
  const followers = new (class extends Followers {
    protected override onEmpty(): void {
      subscription?.unsubscribe();
    }
  })();
  const append = (text: string) => {
    log.append(text);
    followers.notify();
  };
  const end = (runEnd: RunEnd) => {
    if (!log.ended) append(doneText(runEnd));
    log.end();
  };
  const fail = (error: unknown) => {
    new Logger('Query').error('A stream of envelopes failed.', error instanceof Error ? error.stack : error);
    end({ status: 'failed', error: { code: 'internal', message: 'The service failed.' } });
  };
  return {
    run: undefined,
    follow: (sink) => {
      const follower = new Follower(log, 0, sink, followers);
      subscription = envelopes.subscribe({
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
