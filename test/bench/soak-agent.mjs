/** The agent of `soak.mjs`: `kwargs.events` messages with their numbers, `kwargs.every` milliseconds apart. */
import { setTimeout as delay } from 'node:timers/promises';

export default async function* count(query, { signal }) {
  const { events, every } = query.kwargs;
  for (let number = 1; number <= events; number++) {
    if (every > 0) await delay(every, undefined, { signal });
    yield { type: 'message', data: { content: String(number) } };
  }
}
