import { Controller, Get, HttpCode, Logger, ServiceUnavailableException } from '@nestjs/common';
import { AgentService, QueryError } from '../query/index.js';

/** Tells an orchestrator the state of the service. */
@Controller('health')
export class HealthController {
  readonly #logger = new Logger('Health');

  constructor(private readonly agent: AgentService) {}

  /** 200: the process responds. */
  @Get('live')
  @HttpCode(200)
  live(): { status: 'live' } {
    return { status: 'live' };
  }

  /**
   * 200: the service accepts queries. 503 with `code` and `detail`: it does not, for example because it is draining or
   * its database is unavailable. The cause of an unexpected error is only logged: its text is not for callers.
   */
  @Get('ready')
  @HttpCode(200)
  async ready(): Promise<{ status: 'ready' }> {
    try {
      await this.agent.check();
    } catch (error) {
      const { code, detail } = error instanceof QueryError ? error : this.#unexpected(error);
      throw new ServiceUnavailableException({ status: 'not ready', code, detail });
    }
    return { status: 'ready' };
  }

  #unexpected(error: unknown): QueryError {
    this.#logger.error(
      'The readiness check failed with an unexpected error.',
      error instanceof Error ? error.stack : error,
    );
    return new QueryError('internal', 'The service failed, and has logged the cause.');
  }
}
