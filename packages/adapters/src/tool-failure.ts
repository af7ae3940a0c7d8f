import { inspect } from 'node:util';
import { Logger } from '@nestjs/common';
import { QueryError } from 'nest-agent-query';
import { linesForLog, textForLog } from 'nest-agent-query/agents';

const logger = new Logger('Tools');

/**
 * What callers read of a tool that has thrown. The log gets the error, which may contain secrets.
 *
 * @param runId the run that has called the tool
 * @param name the tool
 *
 * @example
 * yield toolResult(call.id, toolFailure(context.runId, call.name, error), { isError: true });
 */
export function toolFailure(runId: string, name: string, error: unknown): string {
  if (error instanceof QueryError) return error.detail;
  const shownName = textForLog(JSON.stringify(name));
  logger.warn(`Run ${runId}: the tool ${shownName} failed. ${linesForLog(inspect(error))}`);
  return 'The tool failed. The service has logged the cause.';
}
