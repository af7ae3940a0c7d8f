import { AgentQueryError } from 'nest-agent-query-client';

/**
 * Returns a response of the form that the service gives it.
 *
 * @throws {AgentQueryError} `invalid_response`: it has another form, so that something else has answered
 */
export function checked<Response>(response: Response, isKnown: (response: Response) => boolean): Response {
  if (typeof response === 'object' && response !== null && isKnown(response)) return response;
  throw new AgentQueryError('invalid_response', 'The response is JSON, but not that of the service.');
}

/** Whether a value is an object that has a text under each of these names. */
export function hasTexts(value: unknown, names: string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === 'string');
}

/** Whether values are a page of a list, whose entries have a text under each of these names. */
export function isPage(entries: unknown, next: unknown, names: string[]): boolean {
  const isCursor = next === null || typeof next === 'string' || typeof next === 'number';
  return isCursor && Array.isArray(entries) && entries.every((entry) => hasTexts(entry, names));
}
