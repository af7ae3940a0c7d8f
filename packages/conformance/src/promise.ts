import type { Caller } from './caller.js';

/**
 * An edition of the interface. It never changes: what is promised later gets a later edition, so that a service that has passed
 * one does not fail it tomorrow.
 */
export type Edition = '2026-12' | '2027-01' | '2027-02';

/**
 * The newest edition: it has its own promises, and those of the editions before.
 *
 * @example
 * console.log(`Passes ${EDITION}`);
 */
export const EDITION: Edition = '2027-02';

/**
 * The levels in their order, each with what it is about. `core` is what every service of this interface has; each other level
 * needs `core` only.
 *
 * @example
 * const names = Object.keys(LEVELS); // ['core', 'stream', …]
 */
export const LEVELS = {
  core: 'a query and its stream: section 1 of the interface',
  stream: 'the two profiles, the end of a stream, and what is refused before it: 2.1 to 2.3, 2.8, 2.16',
  runs: 'runs that outlive their connections: follow, resume, retry, cancel: 2.4, 2.7',
  sessions: 'conversations, their turns and forks: 2.5, 2.16',
  files: 'files of queries and answers, and long texts: 2.9',
  lists: 'lists of runs and of sessions: 2.10',
  input: 'runs that ask, and answers to them: 2.13',
  access: 'credentials and owners: 2.6, 2.12',
} as const;

/** The name of a level. */
export type Level = keyof typeof LEVELS;

/** A promise of the interface that can be seen from outside, and its check. */
export interface ConformancePromise {
  /** Stable, such as `core.order`. */
  id: string;
  level: Level;
  /** The edition that has it first. */
  edition: Edition;
  /** The section of the interface. */
  section: string;
  /** What is promised. */
  sentence: string;
  /** Resolves if the promise is kept. Only the suite can call it: `checkConformance` does. */
  check(caller: Caller): Promise<void>;
}

/**
 * The promises of a level, by their ids without the name of the level.
 *
 * @param edition the first that has them. Default: the first of all
 */
export function promisesOf(
  level: Level,
  table: Record<string, [section: string, sentence: string, check: (caller: Caller) => Promise<void>]>,
  edition: Edition = '2026-12',
): ConformancePromise[] {
  return Object.entries(table).map(([name, [section, sentence, check]]) => ({
    id: `${level}.${name}`,
    level,
    edition,
    section,
    sentence,
    check,
  }));
}
