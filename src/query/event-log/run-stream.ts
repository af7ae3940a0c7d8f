import { Logger } from '@nestjs/common';
import { catchError, concatWith, map, Observable, of, type Subscription, takeWhile } from 'rxjs';
import { LocalSignals } from '../ports/other-processes.js';
import { envelopeText } from '../contract/envelope-text.js';
import { doneText } from '../contract/envelopes.js';
import type { Envelope, RunEnd, RunView } from 'nest-agent-query-client';
import { EventLog } from './event-log.js';
import { Follower, type Sink } from './follower.js';
import { FollowerGroups } from './follower-groups.js';
import { stackForLog } from '../platform/text-for-log.js';
import type { ReadLog } from './log-texts.js';

export interface FollowedRun {
  /** Undefined where the envelopes do not come from a run. */
  runId: string | undefined;
  /** The run as it is when this is read first; undefined where the envelopes do not come from a run. */
  run: RunView | undefined;
  /** The run has ended, and the reader has its last event: nothing will follow. */
  hasAll: boolean;
  /** Makes a follower, which writes to the sink after its first `notify`. Call its `leave` when the reader goes. */
  follow: (sink: Sink) => Follower;
  /** Reads the log without following it. @throws {QueryError} `cursor_expired` · `not_found` · `unavailable` */
  read: ReadLog;
}

/**
 * The envelopes of a run as an Observable: those in its log after the cursor, then new ones as they come, and `done` at last.
 *
 * Each subscriber follows the log on its own. Unsubscribing only leaves the run; its disconnect policy then applies. The
 * stream fails with a `QueryError` if the query is not admitted or the run is not found.
 *
 * **Why there is a fast path beside the Observable.** An Observable calls a function per envelope, and cannot wait for a slow
 * connection. `Responses` therefore does not subscribe. It calls `RunStream.from`, waits for `admitted`, and follows
 * the log directly: a thousand envelopes of one tick then cost one write, and a client that stops reading costs a cursor.
 * Measured, this makes bursts more than ten times as fast as `@Sse()`.
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
   * Any Observable of envelopes as a `RunStream`, so that there is one way to write a stream. Another one than a `RunStream`,
   * for example the stub of a test, is written into a log of its own while it is followed. A `done` of its own ends it;
   * otherwise `done` says how it ended.
   */
  static from(envelopes: Observable<Envelope>): RunStream {
    return envelopes instanceof RunStream ? envelopes : new RunStream(Promise.resolve(logged(envelopes)));
  }
}

function logged(envelopes: Observable<Envelope>): FollowedRun {
  const log = new EventLog();
  let subscription: Subscription | undefined;
  const store = {
    signals: new LocalSignals(),
    read: (_: unknown, after: number) => log.read(after),
    find: () => undefined,
  };
  const groups = new FollowerGroups(store, (event) => {
    if (event === 'unfollowed') subscription?.unsubscribe();
  });
  const followers = groups.of({ id: '', owner: '', sessionId: undefined });
  const texts = envelopes.pipe(
    concatWith(of<Envelope>({ type: 'done', data: { status: 'completed' } })),
    takeWhile(({ type }) => type !== 'done', true),
    map((each) => (each.type === 'done' ? doneText(each.data as RunEnd) : envelopeText(each, Infinity))),
    catchError((error: unknown) => {
      new Logger('Query').error('A stream of envelopes failed.', stackForLog(error));
      return of(doneText({ status: 'failed', error: { code: 'internal', message: 'The service failed.' } }));
    }),
  );
  return {
    runId: undefined,
    run: undefined,
    hasAll: false,
    read: (after) => log.read(after),
    follow: (sink) => {
      const follower = new Follower(0, sink, followers);
      subscription = texts.subscribe({
        next: (text) => {
          log.append(text);
          followers.notify();
        },
        complete: () => log.end(),
      });
      return follower;
    },
  };
}
