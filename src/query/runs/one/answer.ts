import { isObservable, type Observable } from 'rxjs';
import type { HandlerAnswer } from '../../ports/agent-handler.js';
import type { AnswerWriter } from './answer-writer.js';

export interface Consumption {
  /** Resolves when the handler has stopped, with or without being asked; rejects with what it threw. */
  readonly ended: Promise<void>;
  /** Asks the handler to stop. Nothing it emits after that is taken. */
  stop(): void;
}

/**
 * Consumes what `AgentHandler.handle` returned.
 *
 * @throws {TypeError} if it is neither an Observable nor an async iterable
 */
export function consume(answer: HandlerAnswer, writer: AnswerWriter): Consumption {
  if (isObservable(answer)) return subscribe(answer, writer);
  const iterable = answer as AsyncIterable<unknown> | null | undefined;
  if (typeof iterable?.[Symbol.asyncIterator] === 'function')
    return pull(iterable[Symbol.asyncIterator](), writer);
  throw new TypeError('AgentHandler.handle returned neither an Observable nor an async iterable');
}

function subscribe(source: Observable<unknown>, writer: AnswerWriter): Consumption {
  let stop!: () => void;
  const ended = new Promise<void>((resolve, reject) => {
    const subscription = source.subscribe({
      next: (value) => writer.take(value),
      error: reject,
      complete: resolve,
    });
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

function pull(iterator: AsyncIterator<unknown>, writer: AnswerWriter): Consumption {
  let stopped = false;
  const pulling = (async () => {
    while (!stopped) {
      const step = await iterator.next();
      if (stopped || step.done) return;
      writer.take(step.value);
      const pause = writer.pause();
      if (pause) await pause;
    }
  })();
  let stop!: () => void;
  const stopping = new Promise<void>((resolve, reject) => {
    stop = () => {
      stopped = true;
      // An iterator without `return` has stopped when its current step settles.
      const returned = iterator.return ? (async () => iterator.return!())() : pulling;
      returned.then(() => resolve(), reject);
    };
  });
  return { ended: Promise.race([pulling.then(() => (stopped ? stopping : undefined)), stopping]), stop };
}
