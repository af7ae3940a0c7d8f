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
  const call = store as unknown as Record<StoreOperation, (...parameters: unknown[]) => unknown>;
  const timed =
    (operation: StoreOperation, isTold: (answer: unknown) => boolean = () => true) =>
    (...parameters: unknown[]): unknown => {
      const since = performance.now();
      let answer: unknown;
      try {
        answer = call[operation](...parameters);
        return answer;
      } finally {
        if (isTold(answer)) {
          const message = () => ({ operation, durationMs: performance.now() - since });
          const tell = () => observers.tell('storeAnswered', message);
          if (isThenable(answer)) answer.then(tell, tell);
          else tell();
        }
      }
    };
  const commits = new WeakSet();
  const isNewCommit = (answer: unknown) => {
    if (!isThenable(answer) || commits.has(answer)) return false;
    commits.add(answer);
    return true;
  };
  const members = TIMED_OPERATIONS.map((operation) => [operation, timed(operation)]);
  return overriding(store, {
    ...(Object.fromEntries(members) as object),
    append: timed('append', isNewCommit) as RunStore['append'],
    read: timed('read', isThenable) as RunStore['read'],
  });
}
