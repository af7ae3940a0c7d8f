import type { ServerResponse } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { answersAtCapacity } from '../contract/refusals.js';
import { hasLeft } from '../platform/host.js';

/** The part of the heap that the answers of all callers may hold: a text may have two bytes a character. */
const MOST = getHeapStatistics().heap_size_limit / 8;

/** What an answer may hold that is not counted: a connection has as much in its buffers. In characters. */
const FREE_LENGTH = 64 * 1024;

/** What the answers of all callers of the process hold, in characters. */
let total = 0;

/** What each answer holds. */
const held = new WeakMap<ServerResponse, number>();

/**
 * Counts what an answer holds in memory, from now until its caller has read it or has left.
 *
 * @param length in characters. An answer may hold more than before, and never holds less
 * @throws {QueryError} `at_capacity`: the answers of all callers of the process would hold too much
 *
 * @example
 * holdAnswer(rawResponse(response), heldLength(task));
 */
export function holdAnswer(response: ServerResponse, length: number): void {
  if (length <= FREE_LENGTH || hasLeft(response)) return;
  const before = held.get(response);
  const more = length - (before ?? 0);
  if (more <= 0) return;
  if (total + more > MOST) throw answersAtCapacity();
  total += more;
  held.set(response, length);
  if (before === undefined) response.once('close', () => (total -= held.get(response)!));
}
