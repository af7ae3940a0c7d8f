import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { AccessFilter } from '../access.filter.js';
import { openQueryRates } from './open-query-rates.js';
import { QueryRates } from './query-rates.js';
import { ConfigurableRateLimitModule, RATE_LIMIT_OPTIONS } from './rate-limit.options.js';

/**
 * Configures how many queries an owner may begin in a minute. `RateLimitGuard` counts them, where a host uses it.
 *
 * The application does not start (`TypeError`) if an option is unknown or faulty.
 *
 * @example
 * RateLimitModule.forRoot({ queriesPerMinute: 60 })
 *
 * @example
 * // For all processes together:
 * RateLimitModule.forRootAsync({
 *   useFactory: async () => ({
 *     queriesPerMinute: 60,
 *     postgres: await postgresPool('postgres://user@host/database'),
 *   }),
 * })
 */
@Global()
@Module({
  providers: [
    { provide: QueryRates, inject: [RATE_LIMIT_OPTIONS], useFactory: openQueryRates },
    { provide: APP_FILTER, useClass: AccessFilter },
  ],
  exports: [QueryRates, RATE_LIMIT_OPTIONS],
})
export class RateLimitModule extends ConfigurableRateLimitModule implements OnApplicationShutdown {
  constructor(@Inject(QueryRates) private readonly rates: QueryRates) {
    super();
  }

  onApplicationShutdown(): Promise<void> {
    return this.rates.close();
  }
}
