import { Logger } from '@nestjs/common';
import { type AgentService, type ErrorCode, type HostCode, QueryError, stackForLog } from '../query/index.js';

/** Why a service takes no queries. */
export interface NotReady {
  code: ErrorCode | HostCode;
  detail: string;
}

const logger = new Logger('Health');

/** Why a service takes no queries; undefined if it does. An unexpected error is only logged: its text is not for callers. */
export async function reasonNotReady(agent: Pick<AgentService, 'check'>): Promise<NotReady | undefined> {
  try {
    await agent.check();
    return undefined;
  } catch (error) {
    if (error instanceof QueryError) return { code: error.code, detail: error.detail };
    logger.error('The readiness check failed with an unexpected error.', stackForLog(error));
    return { code: 'internal', detail: 'The service failed, and has logged the cause.' };
  }
}
