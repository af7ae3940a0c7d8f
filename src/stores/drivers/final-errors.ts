import { NoResultError } from 'kysely';
import { QueryError } from '../../query/index.js';

/** An error of the store itself. To try again would not help. */
export class FinalError extends Error {
  override readonly name = 'FinalError';
}

/**
 * Whether an error comes from the work itself and not from the database: a refusal, a row that is missing, or a defect of the
 * program. All other errors are retried, unless the driver knows that they are final.
 */
export function isOwnError(error: unknown): boolean {
  return [QueryError, FinalError, NoResultError, TypeError, RangeError, ReferenceError, SyntaxError].some(
    (type) => error instanceof type,
  );
}
