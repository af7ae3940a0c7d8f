import { inspect, types } from 'node:util';
import type { Logger } from '@nestjs/common';
import type { RunEnd } from 'nest-agent-query-client';
import { QueryError } from '../../contract/errors.js';
import { linesForLog, textForLog } from '../../platform/text-for-log.js';

/**
 * The end of a run that failed. The operator's log gets everything; the caller gets the code and sentence of a `QueryError`,
 * and nothing of any other error.
 */
export function reportFailure(runId: string, thrown: unknown, logger: Logger): RunEnd {
  // `instanceof` asks a proxy for its prototype, and a hostile proxy throws then.
  if (!types.isProxy(thrown) && thrown instanceof QueryError) {
    const { code, detail, cause } = thrown;
    logger.error(`Run ${runId}: ${textForLog(detail)}`, textOf(cause));
    return { status: 'failed', error: { code, message: detail } };
  }
  logger.error(`Run ${runId}: The handler failed.`, textOf(thrown));
  const message = 'The agent failed. The service has logged the cause.';
  return { status: 'failed', error: { code: 'handler_failed', message } };
}

function textOf(cause: unknown): string | undefined {
  if (cause === undefined) return undefined;
  try {
    return linesForLog(inspect(cause));
  } catch {
    // A hostile object may throw when it is inspected.
    return 'The cause cannot be shown.';
  }
}
