/**
 * The agent of `soak.mjs`: `kwargs.events` messages with their numbers, `kwargs.every` milliseconds apart, each with
 * `kwargs.characters` characters after its number.
 */
import { setTimeout as delay } from 'node:timers/promises';

export default async function* count(query, { signal }) {
  const { events, every, characters = 0 } = query.kwargs;
  for (let number = 1; number <= events; number++) {
    if (every > 0) await delay(every, undefined, { signal });
    yield { type: 'message', data: { content: `${number}${'x'.repeat(characters)}` } };
  }
}
