import { isObservable, type Observable } from 'rxjs';
import type { HandlerAnswer } from '../ports/agent-handler.js';

/** A handler's answer while it is consumed. */
export interface Consumption {
  /** Settles when the handler has stopped, by itself or because it was asked to; rejects with what it threw. */
  readonly ended: Promise<void>;
  /** Asks the handler to stop. Nothing is emitted from then on. */
  stop(): void;
}

/** Where a handler's values go. */
export interface Intake {
  /** Takes one value. Never throws: what cannot be taken is a reason to stop the consumption. */
  take: (value: unknown) => void;
  /**
   * Where no more is welcome at present: a promise, which never rejects, of when it is. An Observable cannot be held
   * back, and is not.
   */
  pause: () => Promise<void> | undefined;
}

/**
 * Consumes what `AgentHandler.handle` returned.
 *
 * @throws {TypeError} if it is neither an Observable nor an async iterable
 */
export function consume(answer: HandlerAnswer, intake: Intake): Consumption {
  if (isObservable(answer)) return subscribe(answer, intake);
  const iterable = answer as Partial<AsyncIterable<unknown>> | null | undefined;
  if (typeof iterable?.[Symbol.asyncIterator] === 'function') {
    return pull((iterable as AsyncIterable<unknown>)[Symbol.asyncIterator](), intake);
  }
  throw new TypeError('AgentHandler.handle returned neither an Observable nor an async iterable');
}

function subscribe(source: Observable<unknown>, { take }: Intake): Consumption {
  let stop!: () => void;
  const ended = new Promise<void>((resolve, reject) => {
    const subscription = source.subscribe({ next: take, error: reject, complete: resolve });
    stop = () => {
      try {
        subscription.unsubscribe();
        resolve();
      } catch (error) {
        reject(error);
      }
    };
  });
  return { ended, stop };
}

function pull(iterator: AsyncIterator<unknown>, { take, pause: room }: Intake): Consumption {
  let stopped = false;
  const pulling = (async () => {
    while (!stopped) {
      const step = await iterator.next();
      if (stopped || step.done) return;
      take(step.value);
      const pause = room();
      if (pause) await pause;
    }
  })();
  let stop!: () => void;
  const stopping = new Promise<void>((resolve, reject) => {
    stop = () => {
      stopped = true;
      // Without `return`, the iterator has stopped when the step that is under way settles.
      const returned = iterator.return ? (async () => iterator.return!())() : pulling;
      returned.then(() => resolve(), reject);
    };
  });
  return { ended: Promise.race([pulling.then(() => (stopped ? stopping : undefined)), stopping]), stop };
}
