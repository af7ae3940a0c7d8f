import { isObservable, type Observable, type Subscription } from 'rxjs';
import type { HandlerAnswer } from './ports/agent-handler.js';

/** A handler's answer while it is consumed. */
export interface Consumption {
  /** Settles when the handler has stopped, by itself or because it was asked to; rejects with what it threw. */
  readonly ended: Promise<void>;
  /** Asks the handler to stop. Nothing is emitted from then on. */
  stop(): void;
}

/**
 * Takes one value. A promise says when the next one is welcome; an Observable cannot be held back, and does not wait.
 * What it throws ends the consumption, which stops the handler.
 */
type Emit = (value: unknown) => Promise<void> | undefined;

/**
 * Consumes what `AgentHandler.handle` returned.
 *
 * @throws {TypeError} if it is neither an Observable nor an async iterable
 */
export function consume(answer: HandlerAnswer, emit: Emit): Consumption {
  if (isObservable(answer)) return subscribe(answer, emit);
  const iterable = answer as Partial<AsyncIterable<unknown>> | null | undefined;
  if (typeof iterable?.[Symbol.asyncIterator] === 'function') {
    return pull((iterable as AsyncIterable<unknown>)[Symbol.asyncIterator](), emit);
  }
  throw new TypeError('AgentHandler.handle returned neither an Observable nor an async iterable');
}

function subscribe(source: Observable<unknown>, emit: Emit): Consumption {
  let stopped = false;
  let subscription: Subscription | undefined;
  let stop!: () => void;
  const ended = new Promise<void>((resolve, reject) => {
    const settle = (settlement: () => void) => {
      stopped = true;
      settlement();
      subscription?.unsubscribe();
    };
    stop = () => {
      try {
        settle(resolve);
      } catch (error) {
        reject(error);
      }
    };
    subscription = source.subscribe({
      next: (value) => {
        if (stopped) return;
        try {
          void emit(value);
        } catch (error) {
          settle(() => reject(error));
        }
      },
      error: reject,
      complete: resolve,
    });
    if (stopped) subscription.unsubscribe();
  });
  return { ended, stop };
}

function pull(iterator: AsyncIterator<unknown>, emit: Emit): Consumption {
  let stopped = false;
  let stop!: () => void;
  const returned = new Promise<void>((resolve, reject) => {
    stop = () => {
      if (stopped) return;
      stopped = true;
      // Without `return`, the iterator has stopped when the step that is under way settles.
      if (iterator.return) iterator.return().then(() => resolve(), reject);
      else pulling.then(resolve, reject);
    };
  });
  const pulling = (async () => {
    for (;;) {
      const step = await iterator.next();
      if (stopped || step.done) return;
      try {
        const pause = emit(step.value);
        if (pause) await pause;
      } catch (error) {
        await iterator.return?.();
        throw error;
      }
    }
  })();
  const ended = Promise.race([pulling.then(() => (stopped ? returned : undefined)), returned]);
  return { ended, stop };
}
