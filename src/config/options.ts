import type { QueryModuleOptions } from '../query/index.js';
import {
  type AccessModuleOptions,
  apiKeysOf,
  type ConnectionLimits,
  type JwtOptions,
} from '../access/index.js';
import type { ModelInputKind, ModelKwarg } from '../adapters/model-limits.js';
import type { Environment } from './environment.js';
import { isLoopback } from './lists.js';
import { headersOf } from './secrets.js';
import { entriesOf } from './variable.js';

/** The options of the module as the environment sets them, without the handler. */
export function queryOptions(environment: Environment): Omit<QueryModuleOptions, 'handler'> {
  return {
    limits: {
      fileBytes: environment.MAX_FILE_BYTES,
      filesBytes: environment.MAX_FILES_BYTES,
      spoolBytes: environment.MAX_SPOOL_BYTES,
      ...given('filesBytesPerOwner', environment.MAX_UPLOAD_BYTES_PER_OWNER),
      textBytes: environment.MAX_TEXT_BYTES,
      documentBytes: environment.MAX_DOCUMENT_BYTES,
      values: environment.MAX_VALUES,
      parts: environment.MAX_PARTS,
      depth: environment.MAX_DEPTH,
      idleMs: environment.BODY_IDLE_MS,
      memoryBytes: environment.FILE_MEMORY_BYTES,
    },
    ...(environment.SPOOL_DIRECTORY && { spoolDirectory: environment.SPOOL_DIRECTORY }),
    rejectMismatchedTypes: environment.REJECT_MISMATCHED_TYPES === 'true',
    runs: {
      timeoutMs: environment.RUN_TIMEOUT_MS,
      backpressureMs: environment.BACKPRESSURE_MS,
      stopDeadlineMs: environment.STOP_DEADLINE_MS,
      disconnect:
        environment.DISCONNECT === 'grace'
          ? { graceMs: environment.DISCONNECT_GRACE_MS }
          : environment.DISCONNECT,
      maxRunning: environment.MAX_RUNNING,
      maxWaiting: environment.MAX_WAITING,
      ...given('maxRunningPerOwner', environment.MAX_RUNNING_PER_OWNER),
      ...given('maxWaitingPerOwner', environment.MAX_WAITING_PER_OWNER),
      sessionPolicy: environment.SESSION_POLICY,
      maxWaitingPerSession: environment.MAX_WAITING_PER_SESSION,
      sessionTurns: environment.SESSION_TURNS,
      drainMs: environment.DRAIN_MS,
    },
    streams: { keepAliveMs: environment.KEEP_ALIVE_MS },
  };
}

/** The options of the agent `remote`. */
export function remoteOptions({ REMOTE_URL, REMOTE_HEADERS }: Environment) {
  return { url: REMOTE_URL, headers: headersOf(REMOTE_HEADERS) };
}

/** The options of the agent `model`, without its MCP servers. */
export function modelOptions(environment: Environment) {
  return {
    baseUrl: environment.MODEL_BASE_URL,
    model: environment.MODEL,
    apiKey: environment.MODEL_API_KEY || undefined,
    instructions: environment.MODEL_INSTRUCTIONS || undefined,
    temperature: environment.MODEL_TEMPERATURE,
    maxOutputTokens: environment.MODEL_MAX_OUTPUT_TOKENS,
    kwargs: entriesOf(environment.MODEL_KWARGS) as ModelKwarg[],
    contextTokens: environment.MODEL_CONTEXT_TOKENS,
    inputs: entriesOf(environment.MODEL_INPUTS) as ModelInputKind[],
    maxSteps: environment.MODEL_MAX_STEPS,
    retries: environment.MODEL_RETRIES,
    silenceMs: environment.MODEL_SILENCE_MS,
  };
}

/** The retention that the environment sets. A member that is undefined stands for the default of the store. */
export function retentionOptions(environment: Environment) {
  return {
    runMs: environment.RETENTION_RUN_MS,
    logLength: environment.RETENTION_LOG_LENGTH,
    totalLength: environment.RETENTION_TOTAL_LENGTH,
    sessionMs: environment.RETENTION_SESSION_MS,
    sessionsLength: environment.RETENTION_SESSIONS_LENGTH,
    fileMs: environment.RETENTION_FILE_MS,
    filesBytes: environment.RETENTION_FILES_BYTES,
  };
}

/** The options of the agent `command` as the environment sets them, without the variables of its program. */
export function commandOptions(environment: Environment) {
  return {
    command: environment.COMMAND,
    processes: environment.COMMAND_PROCESSES,
    stopDeadlineMs: environment.STOP_DEADLINE_MS,
    directory: environment.SPOOL_DIRECTORY || undefined,
  };
}

/** The limits of connections that the environment sets. */
export function connectionLimits(environment: Environment): ConnectionLimits {
  return {
    perAddress: environment.MAX_CONNECTIONS_PER_ADDRESS,
    headMs: environment.HEAD_TIMEOUT_MS,
    requestMs: environment.REQUEST_TIMEOUT_MS,
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
    clockToleranceSeconds: environment.JWT_CLOCK_TOLERANCE_SECONDS,
  };
}

function given<K extends string, V>(name: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [name]: value } as Record<K, V>);
}
