import { isThenable } from '../ports/file-store.js';
import { type StoreOperation, TIMED_OPERATIONS } from '../ports/run-listener.js';
import { overriding } from '../platform/overriding.js';
import type { RunStore } from '../ports/run-store.js';
import type { Observers } from './observers.js';

/**
 * A store whose answers are timed for listeners. It is in use only where somebody listens. There is an append per envelope, and a
 * read per follower and tick: those that are answered from memory are not timed, and a commit of several is timed once.
 */
export function observeStore(store: RunStore, observers: Observers): RunStore {
  const tell = (operation: StoreOperation, since: number) =>
    observers.tell('storeAnswered', { operation, durationMs: performance.now() - since });
  const tellWhenSettled = (operation: StoreOperation, since: number, answer: PromiseLike<unknown>) => {
    const tellIt = () => tell(operation, since);
    answer.then(tellIt, tellIt);
  };
  const call = store as unknown as Record<StoreOperation, (...parameters: unknown[]) => unknown>;
  const timed =
    (operation: StoreOperation) =>
    (...parameters: unknown[]): unknown => {
      const since = performance.now();
      let answer: unknown;
      try {
        answer = call[operation](...parameters);
        return answer;
      } finally {
        if (isThenable(answer)) tellWhenSettled(operation, since, answer);
        else tell(operation, since);
      }
    };
  const commits = new WeakSet<Promise<void>>();
  return overriding(store, {
    ...(Object.fromEntries(TIMED_OPERATIONS.map((operation) => [operation, timed(operation)])) as object),
    append: (...parameters) => {
      const since = performance.now();
      const commit = store.append(...parameters);
      if (!commit || commits.has(commit)) return commit;
      commits.add(commit);
      tellWhenSettled('append', since, commit);
      return commit;
    },
    read: (...parameters) => {
      const since = performance.now();
      const slice = store.read(...parameters);
      if (isThenable(slice)) tellWhenSettled('read', since, slice);
      return slice;
    },
  });
}
