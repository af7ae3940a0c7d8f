import { access, constants, mkdir } from 'node:fs/promises';
import { Catch, type DynamicModule, Logger, Module, NotFoundException, UseGuards } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import {
  AccessGuard,
  AccessModule,
  ownerOf,
  PublicRoute,
  RateLimitGuard,
  RateLimitModule,
  readKeysFile,
} from './access/index.js';
import {
  ConfigurationError,
  configured,
  credentials,
  type Environment,
  hasPlayground,
  queryOptions,
  retentionOptions,
  type ServiceAgent,
  shownNameOf,
} from './config/index.js';
import { diagnosticAgent } from './agents/diagnostic/index.js';
import { type AnsweringOptions, loadAgent, loadPackage } from './service/load-agent.js';
import { type LoadedProtocol, loadProtocols } from './service/load-protocols.js';
import { PlaygroundModule } from './playground/index.js';
import {
  AgentService,
  type Dispatcher,
  getAgentToken,
  ProblemFilter,
  QueryModule,
  type RunTracer,
} from './query/index.js';
import { ServiceAgents } from './service/service-agents.js';
import { documentControllerOf, type ServiceFeatures } from './service/service-document.js';
import { openStore, postgresPool } from './stores/index.js';
import { readWebhooks } from './service/webhooks-file.js';
import {
  HealthController,
  MetricsModule,
  openTracer,
  QueryLog,
  QueryMetrics,
  VersionController,
} from './telemetry/index.js';

/** Where an SDK of OpenTelemetry registers itself, for all copies of `@opentelemetry/api` 1. */
const OPEN_TELEMETRY = Symbol.for('opentelemetry.js.api.1');

/** Answers a path that the service does not have, in the form that all errors have. */
@Catch(NotFoundException)
class UnknownRouteFilter extends ProblemFilter {}

/** Assembles the standalone service. Only this file knows the hub and all its spokes. */
@Module({})
export class AppModule {
  /**
   * @throws {ConfigurationError} `AGENT` names no handler, `COMMAND` cannot be executed, `SPOOL_DIRECTORY` cannot be written,
   * `API_KEYS_FILE` names no keys, `WEBHOOKS_FILE` no endpoints, `DATABASE_URL` names no database that can be opened, or `QUEUE_URL` names no queue
   */
  static async of(environment: Environment, agents: ServiceAgent[]): Promise<DynamicModule> {
    const answering: AnsweringOptions[] = [];
    for (const agent of agents) answering.push(await loadAgent(agent));
    await checkSpoolDirectory(environment.SPOOL_DIRECTORY);
    const { API_KEYS_FILE: keysFile, DATABASE_URL: database } = environment;
    if (keysFile !== '')
      await configured('API_KEYS_FILE names no file of keys.', () => readKeysFile(keysFile));
    const webhooks = await readWebhooks(environment);
    const dispatchers = await Promise.all(
      agents.map(({ name }) => loadDispatcher(environment.QUEUE_URL, name)),
    );
    // Not the URL itself: it may contain a password.
    const store = await configured('DATABASE_URL names no database that can be used.', () =>
      openStore(database, {
        retention: retentionOptions(environment),
        postgres: { directUrl: environment.DATABASE_DIRECT_URL || undefined },
      }),
    );
    const access = credentials(environment);
    const tracers = await Promise.all(agents.map(loadTracer));
    const { QUERIES_PER_MINUTE: rate, ROLE: role } = environment;
    const hasMetrics = await canMeasure(environment);
    const decorators = rate === undefined ? [] : [UseGuards(RateLimitGuard)];
    const shared = { store, ...(access && { owner: ownerOf }), role, decorators };
    const modules = agents.map(({ name, environment: own }, index) =>
      QueryModule.forRoot({
        ...queryOptions(own),
        ...answering[index]!,
        ...shared,
        ...(tracers[index] && { tracer: tracers[index] }),
        ...(dispatchers[index] && { dispatcher: dispatchers[index] }),
        ...(name !== undefined && { name }),
        path: pathOf(agents[index]!),
        webhooks,
        listeners: hasMetrics ? [QueryMetrics, QueryLog] : [QueryLog],
      }),
    );
    const protocols = await loadProtocols(environment, agents);
    const diagnostics = agents.map((agent) =>
      QueryModule.forRoot({ ...shared, ...diagnosticOptions(agent, decorators) }),
    );
    return {
      module: AppModule,
      controllers: [
        HealthController,
        VersionController,
        documentControllerOf(featuresOf(environment, agents, hasMetrics), protocols),
      ],
      providers: [
        { provide: APP_FILTER, useClass: UnknownRouteFilter },
        {
          provide: ServiceAgents,
          inject: agents.map(({ name }) => getAgentToken(name)),
          useFactory: (...services: AgentService[]) => new ServiceAgents(services),
        },
        ...(agents[0]!.name === undefined ? [] : [{ provide: AgentService, useExisting: ServiceAgents }]),
        ...(access ? [{ provide: APP_GUARD, useClass: AccessGuard }] : []),
      ],
      imports: [
        ...(access ? [AccessModule.forRoot(access)] : []),
        ...(rate === undefined ? [] : [await rateLimit(rate, environment)]),
        ...(hasMetrics ? [metrics(environment)] : []),
        ...(hasPlayground(environment) ? [playground(agents, protocols)] : []),
        ...modules,
        ...protocols.flatMap(({ mount }) => mount(decorators)),
        ...diagnostics,
      ],
    };
  }
}

// An orchestrator has no credential.
PublicRoute()(HealthController);

function playground(agents: ServiceAgent[], protocols: LoadedProtocol[]): DynamicModule {
  const { name } = agents[0]!;
  return PlaygroundModule.forRoot({
    path: '',
    endpoint: agents.map(pathOf),
    protocols: protocols.map(({ protocol }) => protocol),
    ...(name === undefined && { name: shownNameOf(agents[0]!) }),
  });
}

function pathOf({ name }: ServiceAgent): string {
  return name === undefined ? 'query' : `${name}/query`;
}

function featuresOf(environment: Environment, agents: ServiceAgent[], measures: boolean): ServiceFeatures {
  // A worker executes runs, and has no endpoint.
  return {
    endpoints: environment.ROLE === 'worker' ? [] : agents.map(pathOf),
    access: credentials(environment),
    hasMetrics: measures && environment.METRICS_PORT === undefined,
    hasPage: hasPlayground(environment),
  };
}

/**
 * Beside each agent, on a path below its own, so that a proxy treats both alike. It has no listeners: a test is not in the log
 * of queries and the metrics. A name of an agent has no ".", so no agent has this one.
 */
function diagnosticOptions(agent: ServiceAgent, decorators: ClassDecorator[]) {
  const { name, environment } = agent;
  const { runs, ...options } = queryOptions(environment);
  const tests = diagnosticAgent();
  const limits = {
    maxRunning: 100,
    maxWaiting: 100,
    maxRunningPerOwner: 20,
    maxWaitingPerOwner: 20,
    drainMs: 0,
  };
  return {
    ...options,
    ...tests,
    runs: { ...runs, ...limits, ...tests.runs },
    decorators: [...decorators, ...tests.decorators],
    name: name === undefined ? 'query.diagnostic' : `${name}.diagnostic`,
    path: `${pathOf(agent)}/diagnostic`,
  };
}

async function rateLimit(queriesPerMinute: number, { DATABASE_URL }: Environment): Promise<DynamicModule> {
  if (!/^postgres(ql)?:/.test(DATABASE_URL)) return RateLimitModule.forRoot({ queriesPerMinute });
  return RateLimitModule.forRoot({ queriesPerMinute, postgres: await postgresPool(DATABASE_URL) });
}

function metrics({ METRICS_PORT: port, HOST: host }: Environment): DynamicModule {
  return MetricsModule.forRoot(port === undefined ? {} : { port, host });
}

/** `prom-client` is shared with hosts, which have it where they want metrics. The service does without it too. */
async function canMeasure({ METRICS_PORT }: Environment): Promise<boolean> {
  if (await MetricsModule.isAvailable()) return true;
  const sentence = 'There are no metrics, because a package is not installed. Run npm install prom-client.';
  if (METRICS_PORT !== undefined) throw new ConfigurationError(`METRICS_PORT: ${sentence}`);
  new Logger('Metrics').debug(sentence);
  return false;
}

async function checkSpoolDirectory(directory: string): Promise<void> {
  if (directory === '') return;
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await access(directory, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigurationError(
      `SPOOL_DIRECTORY is ${JSON.stringify(directory)}; it must be a directory that the service can write (${code}).`,
      { cause: error },
    );
  }
}

/** What the service uses of the package `nest-agent-query-bullmq`. */
interface DispatcherPackage {
  openDispatcher: (url: string, options: { suffix: string | undefined }) => Promise<Dispatcher>;
}

/** Each of several agents has a queue of its own: a process that has a free slot for one may have none for another. */
async function loadDispatcher(url: string, agent: string | undefined): Promise<Dispatcher | undefined> {
  if (url === '') return undefined;
  const { openDispatcher } = await loadPackage<DispatcherPackage>('QUEUE_URL', 'nest-agent-query-bullmq');
  return configured('QUEUE_URL names no queue that can be used.', () =>
    openDispatcher(url, { suffix: agent }),
  );
}

/** Without an SDK there are no spans, and to ask for one with each query takes a twentieth of a small one. */
async function loadTracer(agent: ServiceAgent): Promise<RunTracer | undefined> {
  if (!(OPEN_TELEMETRY in globalThis)) return undefined;
  try {
    return await openTracer({ agentName: shownNameOf(agent) });
  } catch (error) {
    new Logger('Traces').debug((error as Error).message);
    return undefined;
  }
}
