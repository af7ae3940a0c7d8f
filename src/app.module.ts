import { access, constants, mkdir, readFile } from 'node:fs/promises';
import { parse, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
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
import { checkCommand, commandHandler } from './agents/command/index.js';
import { FilesHandler } from './agents/files/index.js';
import type { ModelHandler } from './agents/model/index.js';
import {
  commandOptions,
  ConfigurationError,
  credentials,
  type Environment,
  modelOptions,
  otherVariables,
  queryOptions,
  remoteOptions,
  retentionOptions,
} from './config/index.js';
import {
  type Dispatcher,
  ProblemFilter,
  type Query,
  QueryModule,
  type QueryModuleOptions,
  type RunStore,
  type RunTracer,
} from './query/index.js';
import { openStore, postgresPool } from './stores/index.js';
import {
  HealthController,
  MetricsModule,
  openTracer,
  QueryLog,
  QueryMetrics,
  VersionController,
} from './telemetry/index.js';
import { openDispatcher } from './workers/index.js';

/** Answers a path that the service does not have, in the form that all errors have. */
@Catch(NotFoundException)
class UnknownRouteFilter extends ProblemFilter {}

/** Assembles the standalone service. Only this file knows the hub and all its spokes. */
@Module({})
export class AppModule {
  /**
   * @throws {ConfigurationError} `AGENT` names no handler, `COMMAND` cannot be executed, `SPOOL_DIRECTORY` cannot be written,
   * `API_KEYS_FILE` names no keys, `DATABASE_URL` names no database that can be opened, or `QUEUE_URL` names no queue
   */
  static async of(environment: Environment): Promise<DynamicModule> {
    const handler = await loadHandler(environment);
    await checkSpoolDirectory(environment.SPOOL_DIRECTORY);
    await checkKeysFile(environment.API_KEYS_FILE);
    const dispatcher = await loadDispatcher(environment.QUEUE_URL);
    const store = await loadStore(environment);
    const access = credentials(environment);
    const tracer = await loadTracer(environment.AGENT);
    const { QUERIES_PER_MINUTE: rate, METRICS_PORT: port, HOST: host, ROLE: role } = environment;
    const options = {
      ...queryOptions(environment),
      handler,
      store,
      ...(tracer && { tracer }),
      ...(dispatcher && { dispatcher }),
      ...(access && { owner: ownerOf }),
      // Kwargs that are not valid are refused before the query becomes a run.
      ...(environment.AGENT === 'model' && {
        admit: (query: Query) => (handler as unknown as ModelHandler).check(query),
      }),
    };
    return {
      module: AppModule,
      controllers: [HealthController, VersionController],
      providers: [
        { provide: APP_FILTER, useClass: UnknownRouteFilter },
        ...(access ? [{ provide: APP_GUARD, useClass: AccessGuard }] : []),
      ],
      imports: [
        ...(access ? [AccessModule.forRoot(access)] : []),
        ...(rate === undefined ? [] : [await rateLimit(rate, environment)]),
        MetricsModule.forRoot(port === undefined ? {} : { port, host }),
        QueryModule.forRoot({
          ...options,
          role,
          listeners: [QueryMetrics, QueryLog],
          decorators: rate === undefined ? [] : [UseGuards(RateLimitGuard)],
        }),
      ],
    };
  }
}

// An orchestrator has no credential.
PublicRoute()(HealthController);

async function rateLimit(queriesPerMinute: number, { DATABASE_URL }: Environment): Promise<DynamicModule> {
  if (!/^postgres(ql)?:/.test(DATABASE_URL)) return RateLimitModule.forRoot({ queriesPerMinute });
  return RateLimitModule.forRoot({ queriesPerMinute, postgres: await postgresPool(DATABASE_URL) });
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

async function checkKeysFile(path: string): Promise<void> {
  try {
    if (path !== '') await readKeysFile(path);
  } catch (error) {
    throw new ConfigurationError(`API_KEYS_FILE names no file of keys. ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function loadStore(environment: Environment): Promise<RunStore> {
  try {
    return await openStore(environment.DATABASE_URL, { retention: retentionOptions(environment) });
  } catch (error) {
    // Not the URL itself: it may contain a password.
    throw new ConfigurationError(
      `DATABASE_URL names no database that can be used. ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

async function loadDispatcher(url: string): Promise<Dispatcher | undefined> {
  if (url === '') return undefined;
  try {
    return await openDispatcher(url);
  } catch (error) {
    throw new ConfigurationError(`QUEUE_URL names no queue that can be used. ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Without the package `@opentelemetry/api` nobody can have registered an SDK, and there is nothing to trace for. */
async function loadTracer(agent: string): Promise<RunTracer | undefined> {
  try {
    return await openTracer({ agentName: parse(agent).name });
  } catch (error) {
    new Logger('Traces').debug((error as Error).message);
    return undefined;
  }
}

async function loadHandler(environment: Environment): Promise<QueryModuleOptions['handler']> {
  const { AGENT: agent } = environment;
  if (agent === 'files') return FilesHandler;
  if (agent === 'remote') return loadRemoteHandler(environment);
  if (agent === 'command') return loadCommand(environment);
  if (agent === 'model') return loadModel(environment);
  const { default: handler, restarts } = await importModule(agent);
  if (isHandler(handler)) return restarts === undefined ? handler : withRestarts(handler, restarts);
  throw new ConfigurationError(
    `AGENT is ${JSON.stringify(agent)}; its default export must be a class with a method "handle", or a function such ` +
      'as async function* (query, context) {…}.',
  );
}

async function loadRemoteHandler(environment: Environment): Promise<QueryModuleOptions['handler']> {
  try {
    const { remoteHandler } = await import('./agents/remote/index.js');
    return remoteHandler(remoteOptions(environment));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isMissing = code === 'ERR_MODULE_NOT_FOUND';
    const what = isMissing ? 'it needs a package. Run npm install eventsource-parser.' : message;
    throw new ConfigurationError(`AGENT is "remote": ${what}`, { cause: error });
  }
}

async function loadModel(environment: Environment): Promise<QueryModuleOptions['handler']> {
  const options = modelOptions(environment);
  const instructions = await textOrFile('MODEL_INSTRUCTIONS', options.instructions);
  try {
    const { mcpServersOf, modelHandler } = await import('./agents/model/index.js');
    const { MCP_SERVERS: path } = environment;
    const mcpServers = path === '' ? {} : mcpServersOf(await fileText('MCP_SERVERS', path));
    return modelHandler({ ...options, instructions, mcpServers }, otherVariables());
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const isMissing = code === 'ERR_MODULE_NOT_FOUND';
    const what = isMissing
      ? 'it needs packages. Run npm install ai@6 @ai-sdk/openai-compatible@2 @ai-sdk/mcp@1.'
      : message;
    throw new ConfigurationError(`AGENT is "model": ${what}`, { cause: error });
  }
}

/** A text, or the content of the file that it names. */
async function textOrFile(variable: string, text: string | undefined): Promise<string | undefined> {
  const isPath = text !== undefined && /^\.{0,2}\/[^\n]*$/.test(text);
  return isPath ? fileText(variable, text) : text;
}

async function fileText(variable: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigurationError(
      `${variable} is ${JSON.stringify(path)}; it must be a file that the service can read (${code}).`,
      { cause: error },
    );
  }
}

async function loadCommand(environment: Environment): Promise<QueryModuleOptions['handler']> {
  const options = { ...commandOptions(environment), env: otherVariables() };
  try {
    await checkCommand(options);
  } catch (error) {
    // Not the command itself: it may contain a password.
    throw new ConfigurationError(`COMMAND cannot be executed. ${(error as Error).message}`, { cause: error });
  }
  return commandHandler(options);
}

function isHandler(value: unknown): value is QueryModuleOptions['handler'] {
  if (typeof value !== 'function')
    return typeof (value as { handle?: unknown } | undefined)?.handle === 'function';
  const isClass = /^class\b/.test(Function.prototype.toString.call(value));
  return !isClass || typeof (value.prototype as { handle?: unknown }).handle === 'function';
}

/** The module exports `restarts` beside the handler. */
function withRestarts(
  handler: QueryModuleOptions['handler'],
  restarts: unknown,
): QueryModuleOptions['handler'] {
  if (typeof handler !== 'function') return Object.assign(handler, { restarts });
  const isClass = /^class\b/.test(Function.prototype.toString.call(handler));
  Object.defineProperty(isClass ? handler.prototype : handler, 'restarts', { value: restarts });
  return handler;
}

async function importModule(path: string): Promise<{ default?: unknown; restarts?: unknown }> {
  try {
    return (await import(pathToFileURL(resolve(path)).href)) as { default?: unknown; restarts?: unknown };
  } catch (error) {
    throw new ConfigurationError(
      `AGENT is ${JSON.stringify(path)}; it must be "files", "model", "command", "remote" or the path of a JavaScript module that can be loaded: ` +
        (error as Error).message,
      { cause: error },
    );
  }
}
