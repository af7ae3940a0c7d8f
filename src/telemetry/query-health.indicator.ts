import { Injectable } from '@nestjs/common';
import type { AgentService } from '../query/index.js';
import { type NotReady, reasonNotReady } from './readiness.js';

/** What `@nestjs/terminus` takes as the result of an indicator. */
export type QueryHealth<K extends string> = Record<
  K,
  { status: 'up'; detail?: string } | ({ status: 'down' } & NotReady)
>;

/**
 * An indicator for the health checks of `@nestjs/terminus`, from version 11 on: whether a query module takes queries.
 *
 * @example
 * @Controller('health')
 * class OwnHealthController {
 *   constructor(
 *     private readonly health: HealthCheckService,
 *     private readonly indicator: QueryHealthIndicator,
 *     private readonly agent: AgentService,
 *   ) {}
 *
 *   @Get()
 *   @HealthCheck()
 *   check() {
 *     return this.health.check([() => this.indicator.isHealthy('agent', this.agent)]);
 *   }
 * }
 */
@Injectable()
export class QueryHealthIndicator {
  /**
   * @param key names the module in the result
   * @param agent the service of the module
   * @returns `down` with the reason as `code` and `detail` if the module takes no queries; `up`, with a `detail` if something is
   * wrong nevertheless
   */
  async isHealthy<const K extends string>(key: K, agent: AgentService): Promise<QueryHealth<K>> {
    const reason = await reasonNotReady(agent);
    const detail = agent.trouble();
    const health = reason
      ? { status: 'down', ...reason }
      : { status: 'up', ...(detail !== undefined && { detail }) };
    return { [key]: health } as QueryHealth<K>;
  }
}
