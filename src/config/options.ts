import { resolve } from 'node:path';
import {
  type BodyLimits,
  type Budget,
  OPTIONS,
  type QueryModuleOptions,
  type RunOptions,
  type StreamOptions,
} from '../query/index.js';
import type { ModelInputKind, ModelKwarg } from '../agents/model-values.js';
import type { NumberOption } from '../query/options/table.js';
import {
  type AccessModuleOptions,
  apiKeysOf,
  type ConnectionLimits,
  type JwtOptions,
} from '../access/index.js';
import { entriesOf, isLoopback, linesOf } from './lists.js';
import { type Environment, isVariable, type Protocol, PROTOCOLS } from './variables.js';

/** The members of a group of options that variables set. Without a limit, the member is left out. */
function chosen<G extends Record<string, NumberOption>>(
  environment: Environment,
  group: G,
): { [K in keyof G]?: number | undefined } {
  const entries = Object.entries(group).flatMap(([name, { variable }]) => {
    const value = isVariable(variable) ? environment[variable] : undefined;
    return value === undefined || value === Infinity ? [] : [[name, value]];
  });
  return Object.fromEntries(entries) as { [K in keyof G]?: number };
}

/** The options of the module as the environment sets them, without the handler. */
export function queryOptions(environment: Environment): Omit<QueryModuleOptions, 'handler'> {
  const { DISCONNECT, SESSION_POLICY, ON_ASKING, SPOOL_DIRECTORY, REJECT_MISMATCHED_TYPES } = environment;
  return {
    limits: chosen(environment, OPTIONS.limits) as Partial<BodyLimits>,
    ...(SPOOL_DIRECTORY && { spoolDirectory: SPOOL_DIRECTORY }),
    budgets: budgets(environment),
    rejectMismatchedTypes: REJECT_MISMATCHED_TYPES === 'true',
    runs: {
      ...(chosen(environment, OPTIONS.runs) as Partial<RunOptions>),
      disconnect: DISCONNECT === 'grace' ? { graceMs: environment.DISCONNECT_GRACE_MS } : DISCONNECT,
      sessionPolicy: SESSION_POLICY,
      onAsking: ON_ASKING,
    },
    streams: chosen(environment, OPTIONS.streams) as Partial<StreamOptions>,
  };
}

function budgets({ TOKENS_PER_DAY, TOKENS_PER_MONTH, HARD_BUDGETS }: Environment): Budget[] {
  const hard = HARD_BUDGETS === 'true';
  return [
    ...(TOKENS_PER_DAY === undefined ? [] : [{ per: 'day' as const, tokens: TOKENS_PER_DAY, hard }]),
    ...(TOKENS_PER_MONTH === undefined ? [] : [{ per: 'month' as const, tokens: TOKENS_PER_MONTH, hard }]),
  ];
}

/** The options of the agent `remote`. */
export function remoteOptions({ REMOTE_URL, REMOTE_HEADERS }: Environment) {
  return { url: REMOTE_URL, headers: headersOf(REMOTE_HEADERS) };
}

/** The options of the agent `model`, without its MCP servers. */
export function modelOptions(environment: Environment) {
  return {
    provider: environment.MODEL_PROVIDER || undefined,
    baseUrl: environment.MODEL_BASE_URL || undefined,
    model: environment.MODEL,
    apiKey: environment.MODEL_API_KEY || undefined,
    instructions: environment.MODEL_INSTRUCTIONS || undefined,
    temperature: environment.MODEL_TEMPERATURE,
    kwargs: entriesOf(environment.MODEL_KWARGS) as ModelKwarg[],
    inputs: entriesOf(environment.MODEL_INPUTS) as ModelInputKind[],
    ...chosen(environment, OPTIONS.model),
  };
}

/** The retention that the environment sets. A member that is undefined stands for the default of the store. */
export function retentionOptions(environment: Environment) {
  return chosen(environment, OPTIONS.retention);
}

/** The options of the agent `command` as the environment sets them, without the variables of its program. */
export function commandOptions(environment: Environment) {
  return {
    command: environment.COMMAND,
    ...chosen(environment, OPTIONS.command),
    keepInput: environment.COMMAND_KEEP_INPUT === 'true',
    stopDeadlineMs: environment.STOP_DEADLINE_MS,
    directory: environment.SPOOL_DIRECTORY || undefined,
  };
}

/** The options of the agent `acp` as the environment sets them, without the variables of its program. */
export function acpOptions(environment: Environment) {
  return {
    command: environment.ACP_COMMAND,
    cwd: pathOf(environment.ACP_CWD),
    home: pathOf(environment.ACP_HOME),
    directory: pathOf(environment.ACP_DIRECTORY),
    mode: environment.ACP_MODE || undefined,
    authMethod: environment.ACP_AUTH_METHOD || undefined,
    files: environment.ACP_FILES,
    onReject: environment.ACP_ON_REJECT,
    ...chosen(environment, OPTIONS.acp),
    stopDeadlineMs: environment.STOP_DEADLINE_MS,
  };
}

/** A path as the working directory of the service makes it absolute. */
function pathOf(text: string): string | undefined {
  return text === '' ? undefined : resolve(text);
}

/** The limits of connections that the environment sets. */
export function connectionLimits(environment: Environment): Partial<ConnectionLimits> {
  return {
    ...(chosen(environment, OPTIONS.connections) as Partial<ConnectionLimits>),
    proxies: proxies(environment),
  };
}

/** The proxies in front of the service. */
export function proxies({ TRUST_PROXY }: Environment): string[] {
  return entriesOf(TRUST_PROXY);
}

/** Whether the service has the page to try its agents. A worker has no endpoint to try. */
export function hasPlayground({ PLAYGROUND, HOST, ROLE }: Environment): boolean {
  return ROLE !== 'worker' && (PLAYGROUND === '' ? isLoopback(HOST) : PLAYGROUND === 'on');
}

/** The protocols that the service has besides its own. A worker has no endpoint. */
export function protocolsOf({ PROTOCOLS: given, ROLE }: Environment): Protocol[] {
  const named = entriesOf(given);
  return ROLE === 'worker' ? [] : PROTOCOLS.filter((each) => named.length === 0 || named.includes(each));
}

/** The origins whose pages may use the endpoint; `*` for all, undefined for none. */
export function corsOrigins({ CORS_ORIGIN }: Environment): string[] | '*' | undefined {
  const origins = entriesOf(CORS_ORIGIN);
  if (origins.length === 0) return undefined;
  return origins.includes('*') ? '*' : origins;
}

/** Whether a token may be a credential. */
export function hasTokens({ JWT_JWKS_URL, JWT_SECRET }: Environment): boolean {
  return JWT_JWKS_URL !== '' || JWT_SECRET !== '';
}

/** Whether there are credentials, and so everybody needs one. */
export function hasCredentials(environment: Environment): boolean {
  return environment.API_KEYS !== '' || environment.API_KEYS_FILE !== '' || hasTokens(environment);
}

/** Whether only this machine may use the service: everybody could who reaches it. */
export function isLocalOnly(environment: Environment): boolean {
  return environment.ACCESS !== 'open' && !hasCredentials(environment);
}

/** Tells whether `Host` may have a name, which is written in small letters: one of this machine, or a listed one. */
export function allowedHosts({ ALLOWED_HOSTS }: Environment): (name: string) => boolean {
  const listed = entriesOf(ALLOWED_HOSTS.toLowerCase());
  return (name) =>
    listed.includes(name) || /(?:^|\.)localhost$/.test(name) || isLoopback(name.replace(/^\[|\]$/g, ''));
}

/** The credentials that give access; undefined if there are none. */
export function credentials(environment: Environment): AccessModuleOptions | undefined {
  if (!hasCredentials(environment)) return undefined;
  return {
    keys: apiKeysOf(environment.API_KEYS),
    keysFile: environment.API_KEYS_FILE || undefined,
    ...(hasTokens(environment) && { jwt: tokens(environment) }),
  };
}

function tokens(environment: Environment): JwtOptions {
  const issuers = entriesOf(environment.JWT_ISSUER);
  const audiences = entriesOf(environment.JWT_AUDIENCE);
  return {
    jwksUrl: environment.JWT_JWKS_URL || undefined,
    secret: environment.JWT_SECRET || undefined,
    issuer: issuers.length > 0 ? issuers : undefined,
    audience: audiences.length > 0 ? audiences : undefined,
  };
}

/** The headers of a list, one in each line. */
function headersOf(text: string): Record<string, string> {
  return Object.fromEntries(
    linesOf(text).map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
}
