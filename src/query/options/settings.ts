import { isPromise } from 'node:util/types';
import type { Query } from '../ports/agent-handler.js';
import type { Dispatcher } from '../ports/other-processes.js';
import type { RunStore } from '../ports/run-store.js';
import type { RunTracer } from '../ports/run-tracer.js';
import {
  type AdmissionContext,
  type Budget,
  type CallerRequest,
  type QueryModuleExtras,
  type QueryModuleFactoryOptions,
  type QueryModuleOptions,
  type Role,
  RUN_DEFAULTS,
  type RunOptions,
  STREAM_DEFAULTS,
  type StreamOptions,
} from './query.options.js';
import {
  type BodyLimits,
  DEFAULT_BODY_LIMITS,
  isInRange,
  OPTIONS,
  rangeText,
  shown,
  withDefaults,
} from './table.js';
import { TypedKwargs } from './typed-kwargs.js';
import { Webhooks } from './webhook-options.js';
import { unknownMembers } from '../contract/unknown-members.js';

const MEMBERS: Record<keyof QueryModuleFactoryOptions, true> = {
  handler: true,
  kwargs: true,
  store: true,
  dispatcher: true,
  tracer: true,
  owner: true,
  admit: true,
  canAnswer: true,
  budgets: true,
  price: true,
  limits: true,
  runs: true,
  streams: true,
  webhooks: true,
  rejectMismatchedTypes: true,
  spoolDirectory: true,
};

const BUDGET_MEMBERS: Record<keyof Budget, true> = { per: true, tokens: true, price: true, hard: true };

const GRACE = OPTIONS.disconnect.graceMs.range;

const BUDGET =
  '{ per: "day" or "month", tokens and price: numbers from 0, at least one of them; hard: true or false }';

/** What the options must be that are no numbers. */
const RULES: [option: string, must: string, isValid: (value: unknown) => boolean][] = [
  ['runs.disconnect', `"continue", "cancel" or { graceMs: ${rangeText(GRACE)} }`, isDisconnectPolicy],
  ['runs.sessionPolicy', '"enqueue", "reject" or "interrupt"', isOneOf('enqueue', 'reject', 'interrupt')],
  ['runs.onAsking', '"supersede", "enqueue" or "reject"', isOneOf('supersede', 'enqueue', 'reject')],
  ['role', '"all", "api" or "worker"', isOneOf('all', 'api', 'worker')],
  ['rejectMismatchedTypes', 'true or false', (value) => typeof value === 'boolean'],
  ['spoolDirectory', 'the path of a directory', (value) => typeof value === 'string' && value !== ''],
  ['store', 'a store, such as await openStore(url)', (value) => 'signals' in (Object(value) as object)],
  ['owner', 'a function', isFunction],
  ['admit', 'a function', isFunction],
  ['canAnswer', 'a function', isFunction],
  ['price', 'a function', isFunction],
  ['budgets', `a function or an array of ${BUDGET}`, (value) => isFunction(value) || areBudgets(value)],
];

function isDisconnectPolicy(value: unknown): boolean {
  if (value === 'continue' || value === 'cancel') return true;
  const policy = (value ?? {}) as { graceMs?: unknown };
  return isInRange(policy.graceMs, GRACE) && unknownMembers(policy, { graceMs: true }).length === 0;
}

function isOneOf(...values: unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value);
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

/** The options without promises. */
type SettledOptions = Omit<QueryModuleFactoryOptions, 'store' | 'dispatcher' | 'tracer'> &
  Partial<Pick<Settings, 'store' | 'dispatcher' | 'tracer'>>;

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
  readonly version: QueryModuleExtras['version'];
  /** The name of the module; undefined for the module without a name. */
  readonly name: string | undefined;
  readonly role: Role;
  readonly webhooks: Webhooks;
  readonly rejectMismatchedTypes: boolean;
  readonly spoolDirectory: string | undefined;
  readonly admit: (query: Query, context: AdmissionContext) => void | Promise<void>;
  /** Undefined where only owners answer. */
  readonly canAnswer: QueryModuleOptions['canAnswer'];
  /** Undefined where owners have no budgets. */
  readonly budgets: ((owner: string) => Promise<readonly Budget[]>) | undefined;
  /** Undefined where nothing has a price. */
  readonly price: QueryModuleOptions['price'];
  readonly owner: (request: CallerRequest) => string | undefined | Promise<string | undefined>;

  /** @throws what a promise is rejected with, and see the constructor */
  static async of(options: QueryModuleFactoryOptions, extras: QueryModuleExtras): Promise<Settings> {
    if (Object(options) !== options)
      throw new TypeError(
        `QueryModule: the options are ${shown(options)}; the factory must return an object.`,
      );
    const { store, dispatcher, tracer } = options;
    const opened = await Promise.all([store, dispatcher, tracer]);
    // A promise of nothing is a faulty store, not the default.
    const settled = { store: opened[0] ?? (store && null), dispatcher: opened[1], tracer: opened[2] };
    return new Settings({ ...options, ...settled } as SettledOptions, extras);
  }

  /**
   * Checks the options of the module, when the promises among them are settled. An undefined member counts as absent.
   *
   * @param options as the host or its factory gives them
   * @param extras what the host has given beside them
   * @throws {TypeError} with a line for each option that is unknown or out of its range; or the handler is given twice
   */
  constructor(options: SettledOptions, extras: QueryModuleExtras = {}) {
    const { handler, limits, runs, streams, kwargs, store, dispatcher, tracer, webhooks, ...others } =
      options;
    const { owner, admit, canAnswer, budgets, price, rejectMismatchedTypes, spoolDirectory } = others;
    const { name, path = 'query', role } = extras;
    if (handler !== undefined && extras.handler !== undefined) {
      throw new TypeError(
        'QueryModule: the handler is given beside the factory and by the factory. Remove one of them.',
      );
    }
    const faults: string[] = [];
    faults.push(...unknownMembers(options, MEMBERS));
    for (const [option, value] of Object.entries({ ...extras, ...options }))
      if (isPromise(value)) faults.push(`${option} is a promise: write await before it.`);
    this.limits = withDefaults('limits', limits, DEFAULT_BODY_LIMITS, OPTIONS.limits, faults);
    this.runs = withDefaults('runs', runs, RUN_DEFAULTS, OPTIONS.runs, faults);
    this.streams = withDefaults('streams', streams, STREAM_DEFAULTS, OPTIONS.streams, faults);
    this.kwargs = kwargsOf(kwargs, faults);
    this.store = store;
    this.dispatcher = dispatcher;
    this.tracer = tracer;
    this.version = extras.version;
    this.name = name;
    this.role = role ?? 'all';
    this.webhooks = new Webhooks(webhooks ?? {}, name, faults);
    this.path = `/${path.replace(/^\/+|\/+$/g, '')}`;
    this.rejectMismatchedTypes = rejectMismatchedTypes ?? false;
    this.spoolDirectory = spoolDirectory;
    this.owner = (request) => owner?.(request);
    this.admit = (query, context) => admit?.(query, context);
    this.budgets = budgetsOf(budgets);
    this.price = price && ((...used) => price(...used));
    this.canAnswer = canAnswer && ((...asked) => canAnswer(...asked));

    const values: Record<string, unknown> = {
      ...others,
      store,
      role,
      'runs.disconnect': this.runs.disconnect,
      'runs.sessionPolicy': this.runs.sessionPolicy,
      'runs.onAsking': this.runs.onAsking,
    };
    for (const [option, must, isValid] of RULES) {
      const value = values[option];
      if (value !== undefined && !isValid(value))
        faults.push(`${option} is ${shown(value)}; it must be ${must}.`);
    }
    if (['api', 'worker'].includes(this.role) && !store?.signals?.isShared)
      faults.push(`role is "${role}"; this needs a store that several processes share, such as Postgres.`);
    if (this.webhooks.endpoints.length > 0 && store && !store.deliveries)
      faults.push('webhooks.endpoints needs a store that keeps deliveries; this one has none.');
    if (this.budgets && store && !store.usage)
      faults.push('budgets needs a store that adds up usage: the given one has no `usage`.');
    if (faults.length > 0)
      throw new TypeError(`QueryModule cannot start with these options:\n${faults.join('\n')}`);
  }
}

function budgetsOf(budgets: QueryModuleOptions['budgets']): Settings['budgets'] {
  if (budgets === undefined || (budgets.length === 0 && typeof budgets !== 'function')) return undefined;
  if (typeof budgets !== 'function') return async () => budgets;
  return async (owner) => {
    const found = await budgets(owner);
    if (areBudgets(found)) return found;
    throw new TypeError(
      `The option "budgets" has returned ${shown(found)}; it must be an array of ${BUDGET}.`,
    );
  };
}

function areBudgets(value: unknown): value is Budget[] {
  const isLimit = (limit: unknown) => limit === undefined || (Number.isFinite(limit) && Number(limit) >= 0);
  return (
    Array.isArray(value) &&
    (value as Partial<Budget>[]).every((budget) => {
      if (unknownMembers(budget, BUDGET_MEMBERS).length > 0) return false;
      const { per, tokens, price, hard } = budget;
      const hasLimit = tokens !== undefined || price !== undefined;
      const isValid = hasLimit && isLimit(tokens) && isLimit(price);
      return isOneOf('day', 'month')(per) && isValid && isOneOf(undefined, true, false)(hard);
    })
  );
}

function kwargsOf(type: QueryModuleFactoryOptions['kwargs'], faults: string[]): TypedKwargs | undefined {
  try {
    return type === undefined ? undefined : new TypedKwargs(type);
  } catch (error) {
    faults.push((error as Error).message);
    return undefined;
  }
}
