import { inspect, types } from 'node:util';
import type { Logger } from '@nestjs/common';
import type { ErrorCode, HostCode } from 'nest-agent-query-client';
import { QueryError } from '../contract/errors.js';
import type { RunEnd } from 'nest-agent-query-client';

/**
 * The end of a run that failed. The operator's log gets everything; the caller gets the code and sentence of a `QueryError`,
 * and nothing of any other error.
 */
export function reportFailure(runId: string, thrown: unknown, logger: Logger): RunEnd {
  const { code, message, logged, cause } = describedFailure(thrown);
  logger.error(`Run ${runId}: ${logged}`, textOf(cause));
  return { status: 'failed', error: { code, message } };
}

function describedFailure(thrown: unknown): {
  code: ErrorCode | HostCode;
  message: string;
  logged: string;
  cause: unknown;
} {
  // `instanceof` asks a proxy for its prototype, and a hostile proxy throws then.
  if (!types.isProxy(thrown) && thrown instanceof QueryError) {
    const { code, detail, cause } = thrown;
    return { code, message: detail, logged: detail, cause };
  }
  const message = 'The agent failed. The service has logged the cause.';
  return { code: 'handler_failed', message, logged: 'The handler failed.', cause: thrown };
}

function textOf(cause: unknown): string | undefined {
  if (cause === undefined) return undefined;
  try {
    return inspect(cause);
  } catch {
    // A hostile object may throw when it is inspected.
    return 'The cause cannot be shown.';
  }
}
