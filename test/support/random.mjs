/**
 * A random generator with a seed (the recurrence of mulberry32), so that a document or a schedule can be made again.
 *
 * `next()` is from 0 up to 1, `below(end)` a whole number from 0 up to `end`, `pick(list)` an element of a list, and
 * `chance(share)` is true in this share of the calls.
 */
export function randomFrom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end) => Math.floor(next() * end);
  return { next, below, pick: (list) => list[below(list.length)], chance: (share) => next() < share };
}
