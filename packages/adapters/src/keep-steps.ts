import { Logger } from '@nestjs/common';
import type { QueryContext } from 'nest-agent-query';
import { textForLog } from 'nest-agent-query/agents';

const logger = new Logger('Checkpoints');

/**
 * Stores a checkpoint after a step. If what is to be kept is too long, the log says so, and the run goes on: another attempt begins
 * after an earlier step.
 *
 * @param state what another attempt needs, any JSON
 * @throws what `checkpoint` throws besides
 *
 * @example
 * await keepSteps(context, { messages });
 */
export async function keepSteps(
  context: Pick<QueryContext, 'runId' | 'checkpoint'>,
  state: unknown,
): Promise<void> {
  try {
    await context.checkpoint(state);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    logger.warn(`Run ${context.runId}: its steps are too long to be kept. ${textForLog(error.message)}`);
  }
}
