import { QueryError } from 'nest-agent-query';

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

export function notFound(what: string): QueryError {
  return new QueryError('not_found', `There is no such ${what}.`);
}

/** A JSON Pointer as clients of OpenAI read it: `input[0].content[1].image_url`. */
export function paramOf(pointer: string): string {
  const names = pointer.split('/').slice(1);
  return names
    .map((name) =>
      /^\d+$/.test(name) ? `[${name}]` : `.${name.replaceAll('~1', '/').replaceAll('~0', '~')}`,
    )
    .join('')
    .replace(/^\./, '');
}
