import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type CallerRequest, isInRange, type Range, rangeText, refuseUnknown } from '../../query/index.js';

/** A pool of `pg`, as far as it is used. */
export interface PostgresConnections {
  query(statement: string | object): Promise<{ rows: unknown[]; rowCount: number | null }>;
}

/**
 * Where the queries are counted, so that a limit holds for all processes that share the database.
 *
 * `postgresPool` of `nest-agent-query/stores` makes it from a URL.
 */
export interface PostgresRateOptions {
  /** A pool of `pg`. A host may give the one that it has. */
  pool: PostgresConnections;
  /** The schema of the table `query_rates`. Both are created if they are missing. Default `agent_query`. */
  schema?: string | undefined;
  /** Is called when the application shuts down, to close the pool. Default: the pool stays open. */
  close?: (() => Promise<void>) | undefined;
}

/** How many queries an owner may begin. A member that is undefined counts as absent. */
export interface RateLimitModuleOptions {
  /** How many queries an owner may begin in a minute, from 1 to 1,000,000. The minute begins with the first of them. */
  queriesPerMinute: number;
  /**
   * Returns the owner of a request; undefined for `anonymous`. Give what the option `owner` of `QueryModule` has. Default: the
   * owner that `AccessGuard` has found, and `anonymous` where there is no `AccessGuard`.
   */
  owner?: ((request: CallerRequest) => string | undefined | Promise<string | undefined>) | undefined;
  /** Default: the memory of this process. */
  postgres?: PostgresRateOptions | undefined;
}

const QUERIES_PER_MINUTE: Range = [1, 1_000_000];

const MEMBERS: Record<keyof RateLimitModuleOptions, true> = {
  queriesPerMinute: true,
  owner: true,
  postgres: true,
};

/** @throws {TypeError} an option is unknown or faulty */
export function checkRateLimit(options: RateLimitModuleOptions): void {
  refuseUnknown('RateLimitModule', options, MEMBERS);
  refuseUnknown('RateLimitModule: postgres', options.postgres, { pool: true, schema: true, close: true });
  if (!isInRange(options.queriesPerMinute, QUERIES_PER_MINUTE))
    throw new TypeError(`RateLimitModule: queriesPerMinute must be ${rangeText(QUERIES_PER_MINUTE)}.`);
}

export const {
  ConfigurableModuleClass: ConfigurableRateLimitModule,
  MODULE_OPTIONS_TOKEN: RATE_LIMIT_OPTIONS,
} = new ConfigurableModuleBuilder<RateLimitModuleOptions>({ moduleName: 'RateLimit' })
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createRateLimitOptions')
  .build();
