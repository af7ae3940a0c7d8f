import { Controller, Get, HttpCode, ServiceUnavailableException } from '@nestjs/common';
import { AgentService, QueryError } from '../query/index.js';

/** Tells an orchestrator how the service is. */
@Controller('health')
export class HealthController {
  constructor(private readonly agent: AgentService) {}

  /** The process answers: 200. */
  @Get('live')
  @HttpCode(200)
  live(): { status: 'live' } {
    return { status: 'live' };
  }

  /** The service takes queries: 200. It does not, because it is going down or its database is away: 503, and why. */
  @Get('ready')
  @HttpCode(200)
  async ready(): Promise<{ status: 'ready' }> {
    try {
      await this.agent.check();
    } catch (error) {
      const { code, detail } = error as QueryError;
      throw new ServiceUnavailableException({ status: 'not ready', code, detail });
    }
    return { status: 'ready' };
  }
}
