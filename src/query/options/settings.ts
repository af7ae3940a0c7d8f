import type { Dispatcher } from '../ports/dispatcher.js';
import type { Query } from '../ports/agent-handler.js';
import type { RunStore } from '../ports/run-store.js';
import type { RunTracer } from '../ports/run-tracer.js';
import { type BodyLimits, DEFAULT_BODY_LIMITS } from './body-limits.js';
import {
  type AdmissionContext,
  type CallerRequest,
  type QueryModuleExtras,
  type QueryModuleFactoryOptions,
  type Role,
  RUN_DEFAULTS,
  type RunOptions,
  STREAM_DEFAULTS,
  type StreamOptions,
} from './query.options.js';
import { TypedKwargs } from './typed-kwargs.js';
import { isInRange, RANGES, rangeText, shown, withDefaults } from './ranges.js';

const ROLES: unknown[] = ['all', 'api', 'worker'];
const SESSION_POLICIES: unknown[] = ['enqueue', 'reject', 'interrupt'];

const MEMBERS: Record<keyof QueryModuleFactoryOptions, true> = {
  handler: true,
  kwargs: true,
  store: true,
  dispatcher: true,
  tracer: true,
  owner: true,
  admit: true,
  limits: true,
  runs: true,
  streams: true,
  rejectMismatchedTypes: true,
  spoolDirectory: true,
};

/** The options of the module: checked, and with their defaults. */
export abstract class Settings {
  abstract readonly limits: Readonly<BodyLimits>;
  abstract readonly runs: Readonly<RunOptions>;
  abstract readonly streams: Readonly<StreamOptions>;
  /** Undefined where the host has no class for kwargs. */
  abstract readonly kwargs: TypedKwargs | undefined;
  abstract readonly store: RunStore | undefined;
  abstract readonly dispatcher: Dispatcher | undefined;
  abstract readonly tracer: RunTracer | undefined;
  abstract readonly role: Role;
  /** The path of the endpoint, without the global prefix of the host; it begins with `/`. */
  abstract readonly path: string;
  /** The name of the module; undefined for the module without a name. */
  abstract readonly name: string | undefined;
  abstract readonly rejectMismatchedTypes: boolean;
  abstract readonly spoolDirectory: string | undefined;
  abstract admit(query: Query, context: AdmissionContext): void | Promise<void>;
  abstract owner(request: CallerRequest): string | undefined | Promise<string | undefined>;
}

/**
 * Checks the options of the module. An undefined member counts as absent.
 *
 * @param options as the host or its factory gives them
 * @param role as the host gives it
 * @param extras the name and the path of the module, as the host gives them
 * @throws {TypeError} with a line for each option that is unknown or out of its range
 */
export function settingsOf(
  options: QueryModuleFactoryOptions,
  role: Role = 'all',
  { name, path = 'query' }: Pick<QueryModuleExtras, 'name' | 'path'> = {},
): Settings {
  const faults: string[] = [];
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && !Object.hasOwn(MEMBERS, name)) faults.push(`${name} is not an option.`);
  }
  const settings = {
    limits: withDefaults('limits', options.limits, DEFAULT_BODY_LIMITS, RANGES.limits, faults),
    runs: withDefaults('runs', options.runs, RUN_DEFAULTS, RANGES.runs, faults),
    streams: withDefaults('streams', options.streams, STREAM_DEFAULTS, RANGES.streams, faults),
    kwargs: kwargsOf(options.kwargs, faults),
    store: options.store,
    dispatcher: options.dispatcher,
    tracer: options.tracer,
    role,
    name,
    path: `/${path.replace(/^\/+|\/+$/g, '')}`,
    rejectMismatchedTypes: options.rejectMismatchedTypes ?? false,
    spoolDirectory: options.spoolDirectory,
    owner: (request: CallerRequest) => options.owner?.(request),
    admit: (query: Query, context: AdmissionContext) => options.admit?.(query, context),
  };
  const { disconnect, sessionPolicy } = settings.runs;
  if (!isDisconnectPolicy(disconnect)) {
    const graceMs = rangeText(RANGES.disconnect.graceMs);
    faults.push(
      `runs.disconnect is ${shown(disconnect)}; it must be "continue", "cancel" or { graceMs: ${graceMs} }.`,
    );
  }
  if (!SESSION_POLICIES.includes(sessionPolicy)) {
    faults.push(
      `runs.sessionPolicy is ${shown(sessionPolicy)}; it must be "enqueue", "reject" or "interrupt".`,
    );
  }
  if (!ROLES.includes(role)) {
    faults.push(`role is ${shown(role)}; it must be "all", "api" or "worker".`);
  } else if (role !== 'all' && !options.store?.signals.isShared) {
    faults.push(`role is "${role}"; this needs a store that several processes share, such as Postgres.`);
  }
  const { rejectMismatchedTypes, spoolDirectory } = settings;
  if (typeof rejectMismatchedTypes !== 'boolean') {
    faults.push(`rejectMismatchedTypes is ${shown(rejectMismatchedTypes)}; it must be true or false.`);
  }
  if (spoolDirectory !== undefined && (typeof spoolDirectory !== 'string' || spoolDirectory === '')) {
    faults.push(`spoolDirectory is ${shown(spoolDirectory)}; it must be the path of a directory.`);
  }
  for (const name of ['owner', 'admit'] as const) {
    const value = options[name];
    if (value !== undefined && typeof value !== 'function')
      faults.push(`${name} is ${shown(value)}; it must be a function.`);
  }
  if (faults.length === 0) return settings;
  throw new TypeError(`QueryModule cannot start with these options:\n${faults.join('\n')}`);
}

function isDisconnectPolicy(value: unknown): boolean {
  if (value === 'continue' || value === 'cancel') return true;
  const graceMs = (value as { graceMs?: unknown } | null)?.graceMs;
  return isInRange(graceMs, RANGES.disconnect.graceMs);
}

function kwargsOf(type: QueryModuleFactoryOptions['kwargs'], faults: string[]): TypedKwargs | undefined {
  if (type === undefined) return undefined;
  if (typeof type !== 'function') {
    faults.push(`kwargs is ${shown(type)}; it must be a class.`);
    return undefined;
  }
  try {
    return new TypedKwargs(type);
  } catch (error) {
    faults.push((error as Error).message);
    return undefined;
  }
}
