import { invalidRequest } from '../refusals.js';

type Members = Record<string, unknown>;

/**
 * A member that is a text; undefined if it is absent or null.
 *
 * @param pointer to the object
 * @throws {QueryError} `invalid_query`
 */
export function textOf(object: Members, name: string, pointer = ''): string | undefined {
  const value = object[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw invalidRequest(`${pointer}/${name}`, 'must be a string');
  return value;
}

/** @throws {QueryError} `invalid_query` */
export function flagOf(body: Members, name: string, otherwise: boolean): boolean {
  const value = body[name] ?? otherwise;
  if (typeof value !== 'boolean') throw invalidRequest(`/${name}`, 'must be true or false');
  return value;
}
