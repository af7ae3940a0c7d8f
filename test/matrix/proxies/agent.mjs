/**
 * The agent that is asked through proxies. It writes what happens to it to the standard output, and its events say when they
 * were made: this process and the one that reads them have the same clock.
 */
import { setTimeout as pause } from 'node:timers/promises';

export default async function* answer({ kwargs }, { signal }) {
  const { label, count = 1, everyMs = 0 } = kwargs;
  signal.addEventListener('abort', () => console.log(`aborted ${label}.`));
  console.log(`begun ${label}.`);
  for (let n = 0; n < count; n++) {
    if (n > 0) await pause(everyMs, undefined, { signal });
    yield { type: 'made', data: { n, atMs: Date.now() } };
  }
}
