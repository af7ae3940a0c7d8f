import { readFile } from 'node:fs/promises';
import { Logger } from '@nestjs/common';
import { EXIT_CODES, ModuleFailure } from 'nest-agent-query-modules';
import { checkCommand, commandHandler } from '../agents/command/index.js';
import { echo } from '../agents/echo/index.js';
import type { RemoteOptions } from '../agents/remote/index.js';
import { loadHandler, watchHandler } from '../agents/module/index.js';
import {
  acpOptions,
  acpVariables,
  commandOptions,
  ConfigurationError,
  configured,
  modelOptions,
  otherVariables,
  remoteOptions,
  type ServiceAgent,
} from '../config/index.js';
import type { AgentHandler, Query, QueryModuleOptions } from '../query/index.js';

type Handler = QueryModuleOptions['handler'];

/** What the service uses of the package `nest-agent-query-files`. */
interface FilesPackage {
  FilesHandler: Handler;
}

/** What the service uses of the package `nest-agent-query-a2a`. */
interface A2aPackage {
  a2aHandler: (options: RemoteOptions) => AgentHandler;
}

/** What the service uses of the package `nest-agent-query-acp`. */
interface AcpPackage {
  checkAcp: (options: object) => Promise<void>;
  fromAcp: (options: object) => AgentHandler;
}

/** What the service uses of the package `nest-agent-query-ai-sdk`. */
interface ModelPackage {
  mcpServersOf: (text: string) => object;
  modelHandler: (
    options: object,
    environment: NodeJS.ProcessEnv,
  ) => AgentHandler & { check: (query: Pick<Query, 'kwargs'>) => void };
}

/** The options of a module by which an agent answers. */
export type AnsweringOptions = Pick<QueryModuleOptions, 'handler' | 'admit'>;

/**
 * Loads an agent of the service: a built-in one, or a module.
 *
 * @throws {ConfigurationError} there is no such agent, or it cannot answer with these variables
 */
export async function loadAgent(agent: ServiceAgent): Promise<AnsweringOptions> {
  const { AGENT: kind } = agent.environment;
  if (kind === 'echo') return { handler: echo };
  if (kind === 'files') return { handler: await loadFiles(agent) };
  if (kind === 'model') return loadModel(agent);
  if (kind === 'remote') return { handler: await loadRemoteHandler(agent) };
  if (kind === 'command') return { handler: await loadCommand(agent) };
  if (kind === 'acp') return { handler: await loadAcp(agent) };
  return { handler: await loadFile(agent) };
}

/** How a sentence about the agent begins. */
function subjectOf({ name, environment: { AGENT: agent } }: ServiceAgent): string {
  const who = name === undefined ? 'AGENT' : `The agent "${name}" of AGENTS`;
  return `${who} is ${JSON.stringify(agent)}`;
}

async function loadRemoteHandler(agent: ServiceAgent): Promise<Handler> {
  const options = { ...remoteOptions(agent.environment), name: agent.name };
  if (!isAgentCard(options.url)) {
    const { remoteHandler } = await import('../agents/remote/index.js');
    return configured(`${subjectOf(agent)}:`, () => remoteHandler(options));
  }
  const { a2aHandler } = await loadPackage<A2aPackage>(
    `${subjectOf(agent)} and REMOTE_URL an agent card: it`,
    'nest-agent-query-a2a',
  );
  return configured(`${subjectOf(agent)}:`, () => a2aHandler(options));
}

/** Whether a URL names the card of an agent that speaks A2A, and no service with `POST /query`. */
function isAgentCard(url: string): boolean {
  return URL.canParse(url) && new URL(url).pathname.endsWith('/agent-card.json');
}

async function loadModel(agent: ServiceAgent): Promise<AnsweringOptions> {
  const prefix = agent.name === undefined ? '' : `The agent ${JSON.stringify(agent.name)}: `;
  const options = modelOptions(agent.environment);
  const instructions = await textOrFile(`${prefix}MODEL_INSTRUCTIONS`, options.instructions);
  const { MCP_SERVERS: path } = agent.environment;
  const servers = path === '' ? undefined : await fileText(`${prefix}MCP_SERVERS`, path);
  const { mcpServersOf, modelHandler } = await loadPackage<ModelPackage>(
    `${subjectOf(agent)}: it`,
    'nest-agent-query-ai-sdk/model',
  );
  return configured(`${subjectOf(agent)}:`, () => {
    const mcpServers = servers === undefined ? {} : mcpServersOf(servers);
    const handler = modelHandler({ ...options, instructions, mcpServers }, otherVariables());
    // Kwargs that are not valid are refused before the query becomes a run.
    return { handler, admit: (query) => handler.check(query) };
  });
}

async function loadFiles(agent: ServiceAgent): Promise<Handler> {
  return (await loadPackage<FilesPackage>(`${subjectOf(agent)}: it`, 'nest-agent-query-files')).FilesHandler;
}

/**
 * Imports a package that is no dependency: only those who want what it does install it.
 *
 * @param subject what needs it: the beginning of a sentence
 * @throws {ConfigurationError} it is not installed, or it needs a package that is not
 */
export async function loadPackage<T>(subject: string, entry: string): Promise<T> {
  try {
    return (await import(entry)) as T;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const [, named] = /^Cannot find package '((?:@[^/']+\/)?[^/']+)/.exec(message) ?? [];
    const missing = named ?? entry.split('/')[0];
    throw new ConfigurationError(
      `${subject} needs a package that is not installed. Run npm install ${missing}.`,
      { cause: error },
    );
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

async function loadCommand(agent: ServiceAgent): Promise<Handler> {
  const options = { ...commandOptions(agent.environment), env: otherVariables(), name: agent.name };
  await configured(cannotExecute('COMMAND', agent), () => checkCommand(options));
  return commandHandler(options);
}

async function loadAcp(agent: ServiceAgent): Promise<Handler> {
  const env = acpVariables(agent.environment);
  const options = { ...acpOptions(agent.environment), env, name: agent.name };
  const { checkAcp, fromAcp } = await loadPackage<AcpPackage>(
    `${subjectOf(agent)}: it`,
    'nest-agent-query-acp',
  );
  await configured(cannotExecute('ACP_COMMAND', agent), async () => {
    await checkCommand({ ...options, env: { PATH: otherVariables()['PATH'], ...env } });
    new Logger('Service').log('Waiting for the coding agent to answer. A first start may take some seconds.');
    await checkAcp(options);
  });
  return fromAcp(options);
}

/** The beginning of a sentence, without the command itself: it may contain a password. */
function cannotExecute(variable: string, { name }: ServiceAgent): string {
  return `${variable}${name === undefined ? '' : ` of the agent "${name}"`} cannot be executed.`;
}

async function loadFile(agent: ServiceAgent): Promise<Handler> {
  const { AGENT: path, WATCH } = agent.environment;
  try {
    return WATCH === 'true' ? await watchHandler(path) : await loadHandler(path);
  } catch (error) {
    if (!(error instanceof ModuleFailure)) throw error;
    const { reason, message } = error;
    const isMissing = reason === 'file';
    const what = isMissing
      ? '; it must be "files", "model", "command", "acp", "remote" or the path of a JavaScript module'
      : '';
    throw new ConfigurationError(`${subjectOf(agent)}${what}. ${message}`, {
      cause: error,
      exitCode: EXIT_CODES[reason],
    });
  }
}
