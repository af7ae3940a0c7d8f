import { QueryError } from 'nest-agent-query';
import { paramOf } from '../view/json.js';

/**
 * A fault in the body of a request.
 *
 * @param pointer to the value, as a JSON Pointer
 * @param detail what is wrong: the rest of a sentence whose subject is the value
 */
export function invalidRequest(pointer: string, detail: string): QueryError {
  return new QueryError('invalid_query', `"${paramOf(pointer)}" ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}

/** @param instead what there is: a sentence without its end. Default: it is not told */
export function notFound(what: string, instead?: string): QueryError {
  return new QueryError(
    'not_found',
    `There is no such ${what}${instead === undefined ? '' : `: ${instead}`}.`,
  );
}
