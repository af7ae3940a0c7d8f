import { modelFailure } from 'nest-agent-query-adapters';

/** What the framework reports as an error in its stream. It may be an error, or only say what one has said. */
export class MastraFailure extends Error {
  override readonly name = 'MastraFailure';

  constructor(override readonly cause: unknown) {
    super(messageOf(cause));
  }
}

/**
 * What an error means for the run.
 *
 * @param hasBegun whether the model has already answered something
 */
export function mastraFailure(error: unknown, hasBegun: boolean): unknown {
  return modelFailure(error instanceof MastraFailure ? error.cause : error, hasBegun) ?? error;
}

function messageOf(cause: unknown): string {
  if (typeof cause === 'string') return cause;
  const { message } = (cause ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : 'The framework has reported an error without a message.';
}
