import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { Environment } from './environment.js';
import { entriesOf } from './variable.js';

/** An agent of the service. */
export interface ServiceAgent {
  /** Where `AGENTS` has several: its name, which begins the path of its endpoint. Undefined for the only agent of a service. */
  name: string | undefined;
  /** The variables as they hold for this agent. `AGENT` says who answers. */
  environment: Environment;
  /** The names of the variables that are set for this agent alone. */
  own: string[];
}

/** The names of agents: what a URL, a label and the name of a variable can have. */
const NAME = /^[a-z](?:-?[a-z0-9]){0,31}$/;

/** The first segments of the paths that the service has itself. */
const RESERVED = ['assets', 'health', 'metrics', 'query', 'version'];

/** The variables that belong to the whole service: no agent has a value of its own. */
const OF_SERVICE = new Set<string>([
  ...[
    'HOST',
    'PORT',
    'ACCESS',
    'API_KEYS',
    'API_KEYS_FILE',
    'QUERIES_PER_MINUTE',
    'CORS_ORIGIN',
    'TRUST_PROXY',
  ],
  ...['JWT_JWKS_URL', 'JWT_SECRET', 'JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_CLOCK_TOLERANCE_SECONDS'],
  ...['MAX_CONNECTIONS_PER_ADDRESS', 'HEAD_TIMEOUT_MS', 'REQUEST_TIMEOUT_MS'],
  ...['METRICS_PORT', 'LOG_FORMAT', 'LOG_LEVEL', 'DATABASE_URL', 'QUEUE_URL', 'SPOOL_DIRECTORY', 'ROLE'],
  'PLAYGROUND',
  ...['RETENTION_RUN_MS', 'RETENTION_LOG_LENGTH', 'RETENTION_TOTAL_LENGTH', 'RETENTION_SESSION_MS'],
  ...['RETENTION_SESSIONS_LENGTH', 'RETENTION_FILE_MS', 'RETENTION_FILES_BYTES'],
  ...['DRAIN_MS', 'STOP_DEADLINE_MS', 'AGENT', 'AGENTS'],
]);

/** `SUMMARY__COMMAND` sets `COMMAND` for the agent `summary`. */
const SEPARATOR = '__';

/** How the variables of an agent begin. */
export function prefixOf(name: string | undefined): string {
  return name === undefined ? '' : name.toUpperCase().replaceAll('-', '_') + SEPARATOR;
}

/** The name of a variable without that of an agent. */
export function withoutAgent(variable: string): string {
  return variable.replace(/^[A-Z][A-Z0-9_]*?__/, '');
}

/** The agents of an environment, and what is wrong with their variables. */
export function readAgents(
  environment: Environment,
  variables: NodeJS.ProcessEnv,
): { agents: ServiceAgent[]; faults: string[] } {
  if (environment.AGENTS === '') return { agents: [{ name: undefined, environment, own: [] }], faults: [] };
  const entries = entriesOf(environment.AGENTS).map(entryOf);
  const names = entries.map(({ name }) => name);
  const faults = [
    ...(variables['AGENT'] ? ['AGENT and AGENTS are both set. Unset one of them.'] : []),
    ...(entries.length === 0 ? ['AGENTS names no agent. Write name=agent, or unset it.'] : []),
    ...entries.flatMap(faultOfEntry),
    ...repeated(names).map((name) => `AGENTS has the name ${JSON.stringify(name)} more than once.`),
    ...strangers(names, variables),
  ];
  const read = entries.map(({ name, agent }) => agentOf(name, agent, environment, variables));
  return {
    agents: read.map(({ agent }) => agent),
    faults: [...faults, ...read.flatMap((each) => each.faults)],
  };
}

function entryOf(entry: string): { name: string; agent: string } {
  const [, name = '', agent = ''] = /^([^=]*)=(.*)$/s.exec(entry) ?? [undefined, entry];
  return { name: name.trim(), agent: agent.trim() };
}

function faultOfEntry({ name, agent }: { name: string; agent: string }): string[] {
  const shown = JSON.stringify(name);
  if (agent === '')
    return [`AGENTS has the entry ${shown}; an entry is name=agent, such as research=./research.mjs.`];
  if (!NAME.test(name)) {
    const what =
      'begins with a letter from a to z, and has only these, digits and single "-", at most 32 letters and digits';
    return [`AGENTS has the name ${shown}. A name is a part of a URL: it ${what}.`];
  }
  if (RESERVED.includes(name))
    return [`AGENTS has the name ${shown}, which is a path of the service. Use another.`];
  return [];
}

function repeated(names: string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

/** Variables with the form of one for an agent that is not there. */
function strangers(names: string[], variables: NodeJS.ProcessEnv): string[] {
  const known = Object.keys(new Environment()).filter((name) => !OF_SERVICE.has(name));
  const prefixes = names.map(prefixOf);
  return Object.keys(variables)
    .filter((variable) => known.some((name) => variable.endsWith(SEPARATOR + name)))
    .filter((variable) => !prefixes.some((prefix) => variable.startsWith(prefix)))
    .map((variable) => `${variable} is for an agent that AGENTS does not have. Rename it, or unset it.`);
}

function agentOf(
  name: string,
  agent: string,
  environment: Environment,
  variables: NodeJS.ProcessEnv,
): { agent: ServiceAgent; faults: string[] } {
  const prefix = prefixOf(name);
  const given = Object.entries(variables)
    .filter(([variable, value]) => variable.startsWith(prefix) && value)
    .map(([variable, value]) => [variable.slice(prefix.length), value] as const);
  const defaults = new Environment();
  const faults = given.flatMap(([variable]) => {
    if (!Object.hasOwn(defaults, variable))
      return [`${prefix}${variable} is not a variable of an agent. Rename or unset it.`];
    if (!OF_SERVICE.has(variable)) return [];
    return [
      `${prefix}${variable} has no effect: ${variable} is the same for all agents. Set ${variable}, or unset it.`,
    ];
  });
  const own = given.map(([variable]) => variable).filter((variable) => Object.hasOwn(defaults, variable));
  const values = plainToInstance(
    Environment,
    Object.fromEntries(given.filter(([each]) => own.includes(each))),
  );
  const invalid = validateSync(values).flatMap(({ constraints }) => Object.values(constraints ?? {}));
  const chosen = Object.fromEntries(own.map((each) => [each, values[each as keyof Environment]]));
  const merged = Object.assign(new Environment(), environment, chosen, { AGENT: agent, AGENTS: '' });
  return {
    agent: { name, environment: merged, own },
    faults: [...faults, ...invalid.map((sentence) => prefix + sentence)],
  };
}
