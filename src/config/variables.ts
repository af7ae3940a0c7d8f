import { MODEL_INPUTS, MODEL_KWARGS, TEMPERATURES } from '../agents/model-values.js';
import { type NumberOption, OPTIONS, type Range } from '../query/options/table.js';
import { decimal, type Kind, list, oneOf, secret, text, whole } from './kinds.js';
import { faultOfNames, isAddressOrNetwork, isHostName, isOriginOrAll } from './lists.js';
import { faultOfAddress, faultOfHeaders, faultOfKey, faultOfKeys, faultOfSecret } from './secrets.js';

/** A variable of the service. */
export interface Variable<T = unknown> extends Kind<T> {
  /** The heading under which the help shows it. */
  group: string;
  /** What it means, as the rest of a line. */
  means: string;
  /** What follows its flag, such as `number`; empty if nothing does, and the flag sets `true`. Undefined: it has no flag. */
  argument: string | undefined;
  /** The name of its flag, if that is not the name of the variable. */
  flag?: string;
  /** Whether it belongs to the whole service: no agent of `AGENTS` has a value of its own. */
  isOfService?: boolean;
}

/** What only some rows have. */
type Extra = Pick<Partial<Variable>, 'flag' | 'isOfService'>;

const SERVICE = 'The service:';
const AGENTS = 'The agents:';
const ACCESS = 'Access:';
const RUNS = 'Runs and sessions:';
const LIMITS = 'Limits of a query:';
const KEPT = 'What is kept:';

/** The variables whose agents cannot have different values. */
const OF_SERVICE = { isOfService: true };

const row =
  (group: string, of: Extra = {}) =>
  <T>(kind: Kind<T>, means: string, argument: string | undefined, rest: Extra = {}): Variable<T> => ({
    ...kind,
    group,
    means,
    argument,
    ...of,
    ...rest,
  });
const service = row(SERVICE, OF_SERVICE);
const agent = row(AGENTS);
const access = row(ACCESS, OF_SERVICE);
const runs = row(RUNS);
const limits = row(LIMITS);

/** The variables of options of the module that are numbers. */
function numbers<G extends Record<string, NumberOption>>(
  make: ReturnType<typeof row>,
  options: G,
  rest: Extra = {},
) {
  const rows = Object.entries(options).flatMap(([name, { variable, range, value, means }]) => {
    const unit = /Ms$/.test(name) ? 'ms' : /Bytes/.test(name) ? 'bytes' : 'number';
    const kind = whole(range, value);
    return variable === '' ? [] : [[variable, make(kind, means, unit, rest)]];
  });
  return Object.fromEntries(rows) as {
    [K in keyof G as Exclude<G[K]['variable'], ''>]: Variable<number | G[K]['value']>;
  };
}

const TOKENS: Range = [0, Number.MAX_SAFE_INTEGER];

const { maxRunning, maxRunningPerOwner, maxWaiting, maxWaitingPerOwner, ...others } = OPTIONS.runs;
const { stopDeadlineMs, drainMs, ...ofRuns } = others;

/** The levels, from the most important on. `info` is what Nest calls `log`. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'log', 'debug', 'verbose'] as const;
/** The protocols of the packages `nest-agent-query-protocols` and `nest-agent-query-mcp`. */
export const PROTOCOLS = ['ai-sdk', 'ag-ui', 'openai', 'a2a', 'mcp'] as const;
export type Protocol = (typeof PROTOCOLS)[number];
const FLAG = oneOf(['true', 'false'], 'false');
const isOneOf = (values: readonly string[]) => (entry: string) => values.includes(entry);
const isNotEmpty = (entry: string) => entry !== '';

/**
 * Every variable of the service: the one place for its name, its flag, what it may be, its default, and what it means. Sizes are
 * bytes, times milliseconds. An empty variable counts as absent.
 */
export const VARIABLES = {
  HOST: service(text('127.0.0.1'), 'the address to listen on', 'address'),
  PORT: service(whole([0, 65_535], 3000), 'the port to listen on; 0 takes a free one', 'number'),
  DATABASE_URL: service(
    text('file:./data/agent-query.db'),
    'where runs, logs, sessions and files are kept',
    'url',
    {
      flag: '--database',
    },
  ),
  DATABASE_DIRECT_URL: service(text(), 'Postgres without its pooler, for signals', 'url'),
  QUEUE_URL: service(text(), 'what brings waiting runs to free slots', 'url', {
    flag: '--queue',
  }),
  ROLE: service(oneOf(['all', 'api', 'worker'], 'all'), 'what this process does', 'all|api|worker'),
  LOG_FORMAT: service(
    oneOf(['json', 'text'], ''),
    '`text` or `json`; by default `text` on a terminal',
    'text|json',
  ),
  LOG_LEVEL: service(oneOf(LOG_LEVELS, 'info'), 'the least important level that is logged', 'level'),
  PLAYGROUND: service(oneOf(['on', 'off'], ''), '`on` or `off`: [the page](playground.md)', 'on|off'),
  PROTOCOLS: service(
    list(isOneOf([...PROTOCOLS, 'none']), `of ${PROTOCOLS.join(', ')}, with commas between them, or "none"`),
    '[protocols](protocols.md); by default all',
    'list',
  ),
  WEBHOOKS_FILE: service(text(), 'a file of endpoints for [webhooks](webhooks.md)', 'file'),
  WEBHOOKS_ALLOW_PRIVATE: service(FLAG, 'send webhooks to private addresses too', ''),
  METRICS_PORT: service(whole([0, 65_535]), 'a port for the metrics alone', 'number'),

  AGENT: agent(text(), 'who answers', 'agent', OF_SERVICE),
  AGENTS: agent(text(), 'several agents, instead of `AGENT`', 'list', OF_SERVICE),
  WATCH: agent(FLAG, 'load a module again when its files change', ''),
  A2A_CARD_FILE: agent(text(), 'what its [card](protocols.md#a2a) says to other agents', 'file'),
  COMMAND: agent(text(), 'with `AGENT=command`: the program', 'program'),
  ...numbers(agent, OPTIONS.command),
  COMMAND_KEEP_INPUT: agent(FLAG, 'with `AGENT=command`: its input stays open', ''),
  ACP_COMMAND: agent(text(), 'with `AGENT=acp`: the [coding agent](coding-agents.md)', 'program'),
  ACP_ENV: agent(secret(faultOfNames), 'variables that it gets: `NAME`, or `NAME=value`', undefined),
  ACP_CWD: agent(text(), 'the folder in which it works', 'folder'),
  ACP_HOME: agent(text(), 'the home folder of all owners', 'folder'),
  ACP_DIRECTORY: agent(text(), 'where homes and folders of sessions are', 'folder'),
  ACP_MODE: agent(text(), 'the mode of its sessions', 'mode'),
  ACP_AUTH_METHOD: agent(text(), 'how it signs in', 'method'),
  ACP_FILES: agent(oneOf(['text', 'embedded', 'link'], 'text'), 'how files reach it', 'text|embedded|link'),
  ACP_ON_REJECT: agent(oneOf(['end', 'tell'], 'end'), 'after a decline', 'end|tell'),
  ...numbers(agent, OPTIONS.acp),
  REMOTE_URL: agent(secret(faultOfAddress), 'where the other service is', 'url'),
  REMOTE_HEADERS: agent(secret(faultOfHeaders), 'headers of every request, one in each line', undefined),
  MODEL_PROVIDER: agent(text(), 'a [provider](agents.md#providers) with another interface', 'name'),
  MODEL_BASE_URL: agent(secret(faultOfAddress), 'where the endpoint is', 'url'),
  MODEL: agent(text(), 'the name of the model', 'name'),
  MODEL_API_KEY: agent(secret(faultOfKey), 'the credential for the endpoint', undefined),
  MODEL_INSTRUCTIONS: agent(text(), 'what the model is told first, or a file of it', 'text'),
  MODEL_TEMPERATURE: agent(decimal(TEMPERATURES), 'the sampling temperature, from 0 to 2', 'number'),
  MODEL_KWARGS: agent(
    list(isOneOf(MODEL_KWARGS), `of ${MODEL_KWARGS.join(', ')}, with commas between them`),
    'what callers may override or bring',
    'list',
  ),
  MODEL_INPUTS: agent(
    list(isOneOf(MODEL_INPUTS), `of ${MODEL_INPUTS.join(', ')}, with commas between them`),
    'files that it takes: `image`, `pdf`, `audio`',
    'list',
  ),
  MCP_SERVERS: agent(text(), 'MCP servers, or a file that lists them', 'file'),
  ...numbers(agent, OPTIONS.model),

  ACCESS: access(oneOf(['open'], ''), '`open` allows other addresses than loopback', 'open'),
  ALLOWED_HOSTS: access(
    list(isHostName, 'names such as agent.local with commas between them, without ports'),
    'names of this machine besides `localhost`',
    'list',
  ),
  API_KEYS: access(secret(faultOfKeys), 'API keys, with commas between them', 'list'),
  API_KEYS_FILE: access(text(), 'a file with a key in each line', 'file'),
  JWT_JWKS_URL: access(secret(faultOfAddress), 'where the issuer publishes its keys', 'url'),
  JWT_SECRET: access(secret(faultOfSecret), 'a secret shared with the issuer', undefined),
  JWT_ISSUER: access(
    list(isNotEmpty, 'names with commas between them'),
    'the issuers of tokens, with commas',
    'list',
  ),
  JWT_AUDIENCE: access(
    list(isNotEmpty, 'names with commas between them'),
    'for whom a token must be, with commas',
    'list',
  ),
  QUERIES_PER_MINUTE: access(whole([1, 1_000_000]), 'queries an owner may begin in a minute', 'number'),
  CORS_ORIGIN: access(
    list(isOriginOrAll, 'origins such as https://app.example.com with commas between them, or "*"'),
    'the origins whose pages may use the endpoint',
    'list',
  ),
  TRUST_PROXY: access(
    list(
      isAddressOrNetwork,
      'addresses or networks such as 10.0.0.0/8 with commas between them, or "loopback"',
    ),
    'the proxies in front of the service',
    'list',
  ),
  ...numbers(access, OPTIONS.connections),

  ...numbers(runs, { maxRunning, maxRunningPerOwner, maxWaiting, maxWaitingPerOwner }),
  ...numbers(runs, ofRuns),
  ...numbers(runs, { stopDeadlineMs, drainMs }, OF_SERVICE),
  TOKENS_PER_DAY: runs(whole(TOKENS), 'tokens that an owner may use in a day', 'number'),
  TOKENS_PER_MONTH: runs(whole(TOKENS), 'tokens that an owner may use in a month', 'number'),
  HARD_BUDGETS: runs(FLAG, 'stop runs that exceed these budgets', ''),
  DISCONNECT: runs(
    oneOf(['continue', 'cancel', 'grace'], 'grace'),
    'what happens when the last follower leaves',
    'continue|cancel|grace',
  ),
  ...numbers(runs, OPTIONS.disconnect),
  SESSION_POLICY: runs(
    oneOf(['enqueue', 'reject', 'interrupt'], 'enqueue'),
    'what a second query of a busy session meets',
    'enqueue|reject|interrupt',
  ),
  ON_ASKING: runs(
    oneOf(['supersede', 'enqueue', 'reject'], 'supersede'),
    'what a query meets while its session asks',
    'supersede|enqueue|reject',
  ),
  ...numbers(runs, OPTIONS.streams),

  ...numbers(limits, OPTIONS.limits),
  SPOOL_DIRECTORY: limits(text(), 'where temporary files of queries are', 'directory', OF_SERVICE),
  REJECT_MISMATCHED_TYPES: limits(FLAG, 'refuse files of clearly another type', ''),

  ...numbers(row(KEPT, OF_SERVICE), OPTIONS.retention),
};

/** The values of the variables. */
export type Environment = {
  readonly [K in keyof typeof VARIABLES]: (typeof VARIABLES)[K] extends Variable<infer T> ? T : never;
};

/** The name of a variable. */
export type VariableName = keyof Environment;

/** The variables in the order of the table. */
export const ROWS = Object.entries(VARIABLES) as [VariableName, Variable][];

export function isVariable(name: string): name is VariableName {
  return Object.hasOwn(VARIABLES, name);
}

/**
 * Reads variables. One that is absent, empty or not valid has its default.
 *
 * @param given the texts of variables by their names; others than ours are left alone
 * @param prefix what the names have in front where they are given, for sentences
 */
export function valuesOf(
  given: Readonly<Record<string, string | undefined>>,
  prefix = '',
): { environment: Environment; faults: string[] } {
  const faults: string[] = [];
  const values = ROWS.map(([name, variable]) => {
    const shown = given[name];
    if (!shown) return [name, variable.value];
    const value = variable.read(shown);
    if (value === undefined) faults.push(faultOf(prefix + name, shown, variable));
    // A text that is not valid is not absent.
    return [name, value ?? (typeof variable.value === 'string' ? shown : variable.value)];
  });
  return { environment: Object.fromEntries(values) as Environment, faults };
}

function faultOf(name: string, given: string, { fault, must }: Variable): string {
  if (fault) return `${name} ${fault(given)}`;
  const shown = /^\d+$/.test(given) ? given : JSON.stringify(given);
  return `${name} is ${shown}; it must be ${must}.`;
}
