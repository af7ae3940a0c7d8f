import type { Dispatcher } from '../ports/other-processes.js';
import type { Query } from '../ports/agent-handler.js';
import type { RunStore } from '../ports/run-store.js';
import type { RunTracer } from '../ports/run-tracer.js';
import { type BodyLimits, DEFAULT_BODY_LIMITS, OPTIONS } from './table.js';
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
import { isInRange, rangeText, shown, withDefaults } from './ranges.js';

const ROLES: unknown[] = ['all', 'api', 'worker'];
const SESSION_POLICIES: unknown[] = ['enqueue', 'reject', 'interrupt'];

/** The options of the module: checked, and with their defaults. */
export class Settings {
  readonly limits: Readonly<BodyLimits>;
  readonly runs: Readonly<RunOptions>;
  readonly streams: Readonly<StreamOptions>;
  /** Undefined where the host has no class for kwargs. */
  readonly kwargs: TypedKwargs | undefined;
  readonly store: RunStore | undefined;
  readonly dispatcher: Dispatcher | undefined;
  readonly tracer: RunTracer | undefined;
  /** The path of the endpoint, without the global prefix of the host; it begins with `/`. */
  readonly path: string;
  /** The name of the module; undefined for the module without a name. */
  readonly name: string | undefined;
  readonly rejectMismatchedTypes: boolean;
  readonly spoolDirectory: string | undefined;
  readonly admit: (query: Query, context: AdmissionContext) => void | Promise<void>;
  readonly owner: (request: CallerRequest) => string | undefined | Promise<string | undefined>;

  /**
   * Checks the options of the module. An undefined member counts as absent.
   *
   * @param options as the host or its factory gives them
   * @param role as the host gives it
   * @param extras the name and the path of the module, as the host gives them
   * @throws {TypeError} with a line for each option that is unknown or out of its range
   */
  constructor(
    options: QueryModuleFactoryOptions,
    readonly role: Role = 'all',
    { name, path = 'query' }: Pick<QueryModuleExtras, 'name' | 'path'> = {},
  ) {
    const faults: string[] = [];
    const { limits, runs, streams, kwargs, store, dispatcher, tracer, owner, admit, ...others } = options;
    const { handler, rejectMismatchedTypes = false, spoolDirectory, ...unknown } = others;
    for (const [member, value] of Object.entries(unknown))
      if (value !== undefined) faults.push(`${member} is not an option.`);
    this.limits = withDefaults('limits', limits, DEFAULT_BODY_LIMITS, OPTIONS.limits, faults);
    this.runs = withDefaults('runs', runs, RUN_DEFAULTS, OPTIONS.runs, faults);
    this.streams = withDefaults('streams', streams, STREAM_DEFAULTS, OPTIONS.streams, faults);
    this.kwargs = kwargsOf(kwargs, faults);
    this.store = store;
    this.dispatcher = dispatcher;
    this.tracer = tracer;
    this.name = name;
    this.path = `/${path.replace(/^\/+|\/+$/g, '')}`;
    this.rejectMismatchedTypes = rejectMismatchedTypes;
    this.spoolDirectory = spoolDirectory;
    this.owner = (request) => owner?.(request);
    this.admit = (query, context) => admit?.(query, context);
    const { disconnect, sessionPolicy } = this.runs;
    const checks: [name: string, value: unknown, isValid: boolean, must: string][] = [
      [
        'runs.disconnect',
        disconnect,
        isDisconnectPolicy(disconnect),
        `"continue", "cancel" or { graceMs: ${rangeText(OPTIONS.disconnect.graceMs.range)} }`,
      ],
      [
        'runs.sessionPolicy',
        sessionPolicy,
        SESSION_POLICIES.includes(sessionPolicy),
        '"enqueue", "reject" or "interrupt"',
      ],
      ['role', role, ROLES.includes(role), '"all", "api" or "worker"'],
      [
        'rejectMismatchedTypes',
        rejectMismatchedTypes,
        typeof rejectMismatchedTypes === 'boolean',
        'true or false',
      ],
      [
        'spoolDirectory',
        spoolDirectory,
        spoolDirectory === undefined || (typeof spoolDirectory === 'string' && spoolDirectory !== ''),
        'the path of a directory',
      ],
      ['owner', owner, owner === undefined || typeof owner === 'function', 'a function'],
      ['admit', admit, admit === undefined || typeof admit === 'function', 'a function'],
    ];
    for (const [member, value, isValid, must] of checks)
      if (!isValid) faults.push(`${member} is ${shown(value)}; it must be ${must}.`);
    if (ROLES.includes(role) && role !== 'all' && !store?.signals.isShared)
      faults.push(`role is "${role}"; this needs a store that several processes share, such as Postgres.`);
    if (faults.length > 0)
      throw new TypeError(`QueryModule cannot start with these options:\n${faults.join('\n')}`);
  }
}

function isDisconnectPolicy(value: unknown): boolean {
  if (value === 'continue' || value === 'cancel') return true;
  const graceMs = (value as { graceMs?: unknown } | null)?.graceMs;
  return isInRange(graceMs, OPTIONS.disconnect.graceMs.range);
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
