import 'reflect-metadata';
import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import { addSecurityHeaders, limitConnections } from '../access/index.js';
import { AppModule } from '../app.module.js';
import {
  agentsOf,
  ConfigurationError,
  connectionLimits,
  corsOrigins,
  type Environment,
  proxies,
  readEnvironment,
  unusedVariables,
  type ServiceAgent,
} from '../config/index.js';
import { greet } from './greeting.js';
import { localRequestsOnly } from './local-requests.js';
import { ServiceLogger } from './logger.js';
import { neverFail } from './process-outputs.js';
import { CODE_FOLDER, CORS_OPTIONS, problemOf, sendProblem, stackForLog } from '../query/index.js';
import { ServiceAgents } from './service-agents.js';
import { stopOnSignals } from './shutdown.js';

/** A service, and what configures it. */
export interface Service {
  app: NestFastifyApplication;
  environment: Environment;
  agents: ServiceAgent[];
}

/**
 * Starts the standalone service: it listens, and shuts down in order on a signal. If it cannot start, it says why and ends the
 * process.
 *
 * @param variables what configures it: the variables of the process, and the flags of the command line in their place
 */
export async function start(variables: NodeJS.ProcessEnv): Promise<void> {
  guardProcess();
  try {
    const service = await createService(variables);
    const { app, environment } = service;
    const load = () => app.get(ServiceAgents).load();
    stopOnSignals(app, load, environment.DRAIN_MS, environment.STOP_DEADLINE_MS);
    await listen(service);
  } catch (error) {
    const { message, exitCode } = explain(error as NodeJS.ErrnoException, variables);
    process.stderr.write(message);
    process.exit(exitCode);
  }
}

/** @throws {ConfigurationError} it cannot be configured so */
export async function createService(variables: NodeJS.ProcessEnv): Promise<Service> {
  const environment = readEnvironment(variables);
  const agents = agentsOf(environment, variables);
  const format = environment.LOG_FORMAT || (process.stdout.isTTY ? 'text' : 'json');
  const logger = new ServiceLogger(format, environment.LOG_LEVEL);
  Logger.overrideLogger(logger);
  for (const sentence of unusedVariables(agents, variables)) logger.warn(sentence, 'Configuration');
  const app = await NestFactory.create<NestFastifyApplication>(
    await AppModule.of(environment, agents),
    await adapterOf(environment),
    // After the shutdown has waited for the callers of the endpoint: whatever else is half sent or half read.
    { logger, abortOnError: false, forceCloseConnections: true },
  );
  const refuseStrangers = localRequestsOnly(environment);
  if (refuseStrangers) app.use(refuseStrangers);
  const origins = corsOrigins(environment);
  if (origins) app.enableCors({ origin: origins, ...CORS_OPTIONS });
  const server = app.getHttpServer();
  limitConnections(server, connectionLimits(environment));
  await addSecurityHeaders(server);
  return { app, environment, agents };
}

/** Lets a service listen, and tells the operator so. */
export async function listen({ app, environment, agents }: Service): Promise<void> {
  await app.listen(environment.PORT, environment.HOST);
  greet(environment, agents, app.getHttpServer().address() as AddressInfo);
}

/** What an operator reads when a service cannot start, and the exit code of its process. */
export function explain(
  error: NodeJS.ErrnoException & { port?: number },
  variables: NodeJS.ProcessEnv,
): { message: string; exitCode: number } {
  return {
    message: `nest-agent-query cannot start.\n${causeOf(error, variables)}\n`,
    exitCode: error instanceof ConfigurationError ? error.exitCode : 1,
  };
}

async function adapterOf(environment: Environment): Promise<FastifyAdapter> {
  const trusted = proxies(environment);
  // The package contains the adapter (`build/fastify.mjs`). Sources, and what `nest build` makes, use the installed one.
  const built = join(CODE_FOLDER, 'fastify/adapter.js');
  const { FastifyAdapter } = (await import(
    existsSync(built) ? pathToFileURL(built).href : '@nestjs/platform-fastify'
  )) as typeof import('@nestjs/platform-fastify');
  return new FastifyAdapter({
    trustProxy: trusted.length > 0 && trusted,
    // With Nest 11 the option of the application does not reach Fastify.
    forceCloseConnections: true,
    // A session id in a path may be as long as a header.
    routerOptions: { maxParamLength: 16 * 1024 },
    // Fastify refuses a path that cannot be decoded before Nest sees the request.
    frameworkErrors: refuseUrl,
  });
}

function refuseUrl(
  _error: unknown,
  { raw: request }: { raw: object },
  reply: { raw: object; hijack(): unknown },
): void {
  reply.hijack();
  const problem = problemOf(400, 'The path of the request is not a valid URL.', 'invalid_query');
  void sendProblem(problem, reply.raw as ServerResponse, request as IncomingMessage);
}

function guardProcess(): void {
  neverFail((sentence) => new Logger('Log').warn(sentence), process.stdout, process.stderr);
  // A handler's unhandled rejection must not crash other runs.
  process.on('unhandledRejection', (reason) => {
    new Logger('Process').error(
      'A promise was rejected, and no code handled the rejection.',
      stackForLog(reason),
    );
  });
}

function causeOf(
  error: NodeJS.ErrnoException & { port?: number },
  { METRICS_PORT }: NodeJS.ProcessEnv,
): string {
  if (!(error instanceof ConfigurationError) && error.syscall !== 'listen')
    return error.stack ?? error.message;
  const variable = String(error.port) === METRICS_PORT ? 'METRICS_PORT' : 'PORT';
  if (error.code === 'EADDRINUSE')
    return `${error.message}. Set ${variable} to another port (0 takes a free one).`;
  if (error.code === 'EACCES') return `${error.message}. Set ${variable} to a port from 1024 on.`;
  return error.message;
}
