import type { Awaitable } from './file-store.js';
import type { LogSlice } from './run-record.js';

/**
 * What one process of the service tells the others about a run. A signal may be lost, and it may come twice: all that it says
 * is in the store, where the others look when they miss something.
 *
 * | type | meaning |
 * |---|---|
 * | `news` | the log of the run has grown, or the run has ended. `slice`, if it is short: what is new in the log, which is stored |
 * | `started` | the process executes the run now; processes with followers of the run answer with `follow`. `slice`: where its log ends |
 * | `follow` | the process has followers of the run. `offset` says how far the fastest has read, in characters of JSON |
 * | `leave` | the process has no follower of the run any more |
 * | `detach` | the run continues from now on when nobody follows it |
 * | `cancel` | the process that executes the run shall cancel it |
 * | `ready` | runs wait for a free slot |
 */
export type Signal =
  | { type: 'news' | 'started'; runId: string; slice?: LogSlice }
  | { type: 'leave' | 'detach' | 'cancel'; runId: string }
  | { type: 'follow'; runId: string; offset: number }
  | { type: 'ready' };

/** What a process does with the signals of the others. */
export interface SignalReceiver {
  /** @param from identifies the process that sent the signal */
  receive(signal: Signal, from: string): void;
  /** Signals of the others may have been lost: everything that they could have said must be looked up. */
  missed(): void;
}

/**
 * Carries signals between the processes that share a store. It is part of the store, as `store.signals`.
 *
 * @example
 * class MyRunStore extends RunStore {
 *   readonly signals: Signals = new MySignals();
 *   // …
 * }
 */
export abstract class Signals {
  /** Whether there may be other processes. If not, nothing is sent. */
  abstract readonly isShared: boolean;

  /**
   * What is wrong if signals of other processes do not arrive at present, as a sentence that callers may read. Then this process
   * looks for news more often, and says everything to everybody. Default: undefined, they arrive.
   */
  readonly trouble?: string | undefined;

  /** Sends a signal to all other processes. Never throws. Signals of one tick are sent together. */
  abstract send(signal: Signal): void;

  /** Begins to pass the signals of the other processes to `receiver`. Resolves when no later signal is missed silently. */
  abstract listen(receiver: SignalReceiver): Awaitable<void>;
}

/** The signals of a store that belongs to one process: there is nobody to send them to. */
export class LocalSignals extends Signals {
  readonly isShared = false;

  send(): void {}

  listen(): void {}
}

/** Takes waiting runs in this process, when a dispatcher says so. */
export interface DispatchReceiver {
  /** Resolves when this process has a free slot. In a process that shuts down, it never does. */
  freeSlot(): Promise<void>;

  /** Takes waiting runs for the free slots of this process. Returns whether more may wait, for other processes. Never rejects. */
  take(): Promise<boolean>;
}

/**
 * Tells processes with a free slot that a run waits. It only saves time: the store decides which process starts which run, and
 * every process also looks by itself every few seconds. What a dispatcher loses, repeats or delays does no harm.
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, store, dispatcher: new MyDispatcher() })
 */
export abstract class Dispatcher {
  /** Runs are ready, and this process has no slot for them. Never throws. */
  abstract offer(): void;

  /** Begins to tell this process about runs that others have offered. Not called in a process that executes none. Never throws. */
  abstract receive(receiver: DispatchReceiver): Awaitable<void>;

  /** This process takes no runs any more, and offers none. What it has offered before should still be sent. */
  abstract close(): Awaitable<void>;
}

/**
 * Dispatches through the signals of the store, which the service receives anyway. A process that has no free slot at that time
 * looks when it has one.
 */
export function signalDispatcher(signals: Signals): Dispatcher {
  return { offer: () => signals.send({ type: 'ready' }), receive() {}, close() {} };
}
