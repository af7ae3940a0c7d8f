import { faultsOfAgents } from './agent-faults.js';
import { prefixOf, readAgents, type ServiceAgent, withoutAgent } from './agents.js';
import { entriesOf, isLoopback } from './lists.js';
import { hasCredentials, hasTokens, isLocalOnly, corsOrigins } from './options.js';
import { resembling } from './unknown-variables.js';
import { type Environment, isVariable, valuesOf } from './variables.js';

/** The service cannot start with this environment. The message has a line for each faulty variable. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  /** The exit code of the process. */
  readonly exitCode: number;

  constructor(message: string, { exitCode = 1, ...options }: ErrorOptions & { exitCode?: number } = {}) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/**
 * Does a step of the start.
 *
 * @param sentence what is wrong if the step fails. The message of its error follows
 * @throws {ConfigurationError} the step fails
 */
export async function configured<T>(sentence: string, step: () => T | Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw new ConfigurationError(`${sentence} ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Reads the environment. An empty variable counts as absent.
 *
 * @throws {ConfigurationError} it names each faulty variable, its value and what it may be
 */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const { environment, faults } = valuesOf(variables);
  const read = readAgents(environment, variables);
  const all = [
    ...faults,
    ...contradictions(environment),
    ...read.faults,
    ...faultsOfAgents(variables, environment, read.agents),
  ];
  if (all.length > 0) throw new ConfigurationError(all.join('\n'));
  return environment;
}

/** The agents of a valid environment. */
export function agentsOf(
  environment: Environment,
  variables: NodeJS.ProcessEnv = process.env,
): ServiceAgent[] {
  return readAgents(environment, variables).agents;
}

/** What the operator should be told of variables that resemble ours: a sentence for each. */
export function unusedVariables(agents: ServiceAgent[], variables: NodeJS.ProcessEnv): string[] {
  return resembling(
    Object.keys(variables).filter((name) => variables[name]),
    agents.map(({ name }) => prefixOf(name)),
  );
}

/**
 * The variables of the process that do not belong to the service: what a program may see that the service starts. Ours contain
 * secrets.
 */
export function otherVariables(variables: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => !isVariable(name) && !isVariable(withoutAgent(name))),
  );
}

/** The variables of a coding agent: `ACP_ENV` sets them, or names some of the process. */
export function acpVariables({ ACP_ENV }: Environment, variables: NodeJS.ProcessEnv = process.env) {
  const entries = entriesOf(ACP_ENV).map(
    (entry) => /^(\w+)=(.*)$/s.exec(entry)?.slice(1) ?? [entry, variables[entry]],
  );
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Variables that have no effect, or are not safe, with the values of others. */
function contradictions(environment: Environment): string[] {
  const { HOST, ACCESS, DATABASE_URL, DATABASE_DIRECT_URL, QUEUE_URL, ROLE, RETENTION_FILE_MS } = environment;
  const isPostgres = (url: string) => /^postgres(ql)?:/.test(url);
  const isShared = isPostgres(DATABASE_URL);
  const isOpen = !hasCredentials(environment);
  const isLocal = isLocalOnly(environment);
  const faults: [boolean, string][] = [
    [
      isLocal && !isLoopback(HOST),
      `HOST is ${JSON.stringify(HOST)}, which other machines reach, and no credentials are configured. ` +
        'Set API_KEYS, API_KEYS_FILE, JWT_JWKS_URL or JWT_SECRET. Or set HOST to 127.0.0.1. ' +
        'Or set ACCESS=open, so that everybody may use the service.',
    ],
    [
      isLocal && environment.TRUST_PROXY !== '',
      'TRUST_PROXY lets others reach the service through a proxy, and no credentials are configured. ' +
        'Set API_KEYS, API_KEYS_FILE, JWT_JWKS_URL or JWT_SECRET. Or unset TRUST_PROXY. ' +
        'Or set ACCESS=open, if the proxy itself lets only those pass who may use the service.',
    ],
    [
      isLocal && corsOrigins(environment) === '*',
      'CORS_ORIGIN=* lets the pages of all sites use the service, and no credentials are configured. ' +
        'Let CORS_ORIGIN list the origins of your pages. Or set API_KEYS, API_KEYS_FILE, JWT_JWKS_URL or JWT_SECRET. ' +
        'Or set ACCESS=open, so that everybody may use the service.',
    ],
    [
      !isLocal && environment.ALLOWED_HOSTS !== '',
      'ALLOWED_HOSTS has no effect with credentials or ACCESS=open: then every Host is answered. Unset it.',
    ],
    [
      ACCESS === 'open' && !isOpen,
      'ACCESS=open lets everybody use the service, but credentials are configured. Unset ACCESS or the credentials.',
    ],
    [
      !hasTokens(environment) && environment.JWT_ISSUER + environment.JWT_AUDIENCE !== '',
      'JWT_ISSUER and JWT_AUDIENCE have no effect without JWT_JWKS_URL or JWT_SECRET. Set one of these, or unset them.',
    ],
    [
      DATABASE_URL === 'memory:' && RETENTION_FILE_MS !== undefined,
      'RETENTION_FILE_MS has no effect with DATABASE_URL=memory:, which keeps a file as long as its session. ' +
        'Unset RETENTION_FILE_MS, or let DATABASE_URL name a file or a Postgres database.',
    ],
    [
      DATABASE_DIRECT_URL !== '' && !isShared,
      'DATABASE_DIRECT_URL has no effect with a DATABASE_URL that belongs to one process. ' +
        'Unset DATABASE_DIRECT_URL, or let DATABASE_URL name a Postgres database.',
    ],
    [
      DATABASE_DIRECT_URL !== '' && !isPostgres(DATABASE_DIRECT_URL),
      'DATABASE_DIRECT_URL must be postgres://<user>@<host>/<database>.',
    ],
    [
      QUEUE_URL !== '' && !isShared,
      'QUEUE_URL has no effect with a DATABASE_URL that belongs to one process. ' +
        'Unset QUEUE_URL, or let DATABASE_URL name a Postgres database.',
    ],
    [
      ROLE === 'worker' && environment.PLAYGROUND === 'on',
      'PLAYGROUND=on has no effect with ROLE=worker, which has no endpoint. Unset one of them.',
    ],
    [
      ROLE !== 'all' && !isShared,
      `ROLE is "${ROLE}"; this needs a DATABASE_URL that several processes share: postgres://<user>@<host>/<database>.`,
    ],
  ];
  return faults.filter(([isFault]) => isFault).map(([, sentence]) => sentence);
}
