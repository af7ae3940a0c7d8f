import { Controller, Get, Header, ServiceUnavailableException, VERSION_NEUTRAL } from '@nestjs/common';
import { AgentService } from '../query/index.js';
import { reasonNotReady } from './readiness.js';

/**
 * Tells an orchestrator the state of the service: `GET /health/live` and `GET /health/ready`, in every version of the host. It
 * needs the query module without a name. `Public()(HealthController)` decorates it for a guard of the host.
 *
 * @example
 * @Module({ imports: [QueryModule.forRoot({ handler: MyHandler })], controllers: [HealthController] })
 * class AppModule {}
 */
@Controller({ path: 'health', version: VERSION_NEUTRAL })
export class HealthController {
  constructor(private readonly agent: AgentService) {}

  /** 200: the process responds. */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  live(): { status: 'live' } {
    return { status: 'live' };
  }

  /**
   * 200: the service accepts queries; `detail` says what is wrong nevertheless. 503 with the reason as `code` and `detail`: it does
   * not, because it is draining (`draining`) or its database cannot be used (`unavailable`). A service at capacity is ready: it
   * serves the followers of its runs, and without it, others would be at capacity too.
   */
  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready(): Promise<{ status: 'ready'; detail?: string }> {
    const reason = await reasonNotReady(this.agent);
    if (reason) throw new ServiceUnavailableException({ status: 'not ready', ...reason });
    const detail = this.agent.trouble();
    return { status: 'ready', ...(detail !== undefined && { detail }) };
  }
}
