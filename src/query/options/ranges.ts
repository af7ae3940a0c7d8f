/** The largest delay of a timer of Node. A larger one would fire after 1 ms. */
const MAX_TIMER_MS = 2_147_483_647;
const MAX_COUNT = 1_000_000;
const MiB = 1024 * 1024;

/** The smallest and the largest value of an option. All values are whole numbers. */
export type Range = readonly [min: number, max: number];

/** The ranges of all options that are numbers: for the options of the module and for the environment of the service. */
export const RANGES = {
  limits: {
    fileBytes: [0, Number.MAX_SAFE_INTEGER],
    filesBytes: [0, Number.MAX_SAFE_INTEGER],
    spoolBytes: [0, Number.MAX_SAFE_INTEGER],
    filesBytesPerOwner: [0, Number.MAX_SAFE_INTEGER],
    textBytes: [0, Number.MAX_SAFE_INTEGER],
    documentBytes: [2, 256 * MiB],
    values: [1, 100 * MAX_COUNT],
    parts: [1, MAX_COUNT],
    depth: [3, 1000],
    idleMs: [1, MAX_TIMER_MS],
    memoryBytes: [0, 64 * MiB],
  },
  runs: {
    timeoutMs: [1, MAX_TIMER_MS],
    backpressureMs: [1, MAX_TIMER_MS],
    stopDeadlineMs: [0, MAX_TIMER_MS],
    envelopeLength: [1, 256 * MiB],
    maxRunning: [1, MAX_COUNT],
    maxWaiting: [0, MAX_COUNT],
    maxRunningPerOwner: [1, MAX_COUNT],
    maxWaitingPerOwner: [0, MAX_COUNT],
    sessionTurns: [0, 10_000],
    maxWaitingPerSession: [0, MAX_COUNT],
    drainMs: [0, MAX_TIMER_MS],
  },
  disconnect: { graceMs: [0, MAX_TIMER_MS] },
  streams: { keepAliveMs: [10, MAX_TIMER_MS], retryMs: [0, MAX_TIMER_MS] },
  retention: {
    runMs: [1, Number.MAX_SAFE_INTEGER],
    logLength: [0, Number.MAX_SAFE_INTEGER],
    totalLength: [0, Number.MAX_SAFE_INTEGER],
    sessionMs: [1, Number.MAX_SAFE_INTEGER],
    sessionsLength: [0, Number.MAX_SAFE_INTEGER],
    fileMs: [1, Number.MAX_SAFE_INTEGER],
    filesBytes: [0, Number.MAX_SAFE_INTEGER],
  },
} as const satisfies Record<string, Record<string, Range>>;

/** Whether a value is a whole number of a range. */
export function isInRange(value: unknown, [min, max]: Range): boolean {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

/** The range in words, for an error. */
export function rangeText([min, max]: Range): string {
  return `a whole number from ${min} to ${max}`;
}

/**
 * A group of options with the defaults in place of members that are absent or undefined.
 *
 * @param name the name of the group, for errors
 * @param values what the host has set
 * @param defaults the value of every option of the group
 * @param ranges the ranges of those that are numbers
 * @param faults gets a sentence for each unknown member and each value out of range
 */
export function withDefaults<T extends object>(
  name: string,
  values: { [K in keyof T]?: T[K] | undefined } | undefined,
  defaults: Readonly<T>,
  ranges: Partial<Record<keyof T, Range>>,
  faults: string[],
): T {
  const group: T = { ...defaults };
  for (const [key, value] of Object.entries(values ?? {}) as [keyof T & string, unknown][]) {
    if (value === undefined) continue;
    const range = ranges[key];
    if (!Object.hasOwn(defaults, key)) faults.push(`${name}.${key} is not an option.`);
    else if (range && !isInRange(value, range))
      faults.push(`${name}.${key} is ${shown(value)}; it must be ${rangeText(range)}.`);
    else group[key] = value as T[typeof key];
  }
  return group;
}

/** A value of an option for an error: `JSON.stringify` shows `NaN` and `Infinity` as null. */
export function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value);
}
