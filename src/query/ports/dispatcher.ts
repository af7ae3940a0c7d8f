import type { Awaitable } from './file-store.js';
import type { Signals } from './signals.js';

/** Takes waiting runs in this process, when a dispatcher says so. */
export interface DispatchReceiver {
  /** Resolves when this process has a free slot. In a process that shuts down, it never does. */
  freeSlot(): Promise<void>;

  /**
   * Takes as many waiting runs as this process has free slots. Never rejects.
   *
   * @returns whether more runs may wait: then another process should be told
   */
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

  /**
   * Begins to tell this process about runs that others have offered. Not called in a process that executes none. Never throws.
   */
  abstract receive(receiver: DispatchReceiver): Awaitable<void>;

  /** This process takes no runs any more, and offers none. What it has offered before should still be sent. */
  abstract close(): Awaitable<void>;
}

/** Dispatches through the signals of the store. A process that has no free slot at that time looks when it has one. */
export class SignalDispatcher extends Dispatcher {
  constructor(private readonly signals: Signals) {
    super();
  }

  offer(): void {
    this.signals.send({ type: 'ready' });
  }

  /** Does nothing: the service receives the signals of the store. */
  receive(): void {}

  close(): void {}
}
