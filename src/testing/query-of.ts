import type { Type } from '@nestjs/common';
import { type Query, TypedKwargs } from '../query/index.js';
import { inputsOf, type PartsInput, queryPartOf } from './part-input.js';

/**
 * Makes a query for the unit test of a handler. The digest of a file, and its type where the bytes clearly show another one
 * than its `mimeType`, are found as the service finds them.
 *
 * @param parts a text, a file, or an array of them
 * @param kwargs default: an empty object
 * @param type the class that the option `kwargs` names: the query then has an instance of it
 * @throws {QueryError} `invalid_query`: the kwargs break the rules of the class
 *
 * @example
 * await queryOf('What is in this file?');
 * await queryOf(['What is in this file?', { name: 'a.csv', mimeType: 'text/csv', content: 'a,b\n1,2\n' }]);
 * await queryOf('A bird', { temperature: 1 }, PaintKwargs);
 */
export async function queryOf(parts: PartsInput, kwargs?: Record<string, unknown>): Promise<Query>;
export async function queryOf<K extends object>(
  parts: PartsInput,
  kwargs: Record<string, unknown>,
  type: Type<K>,
): Promise<Query<K>>;
export async function queryOf(
  parts: PartsInput,
  kwargs: Record<string, unknown> = {},
  type?: Type<object>,
): Promise<Query<object>> {
  const query: Query = { parts: await Promise.all(inputsOf(parts).map(queryPartOf)), kwargs };
  return type ? new TypedKwargs(type).typed(query) : query;
}
