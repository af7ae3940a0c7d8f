import type { ConformancePromise } from '../promise.js';
import { ACCESS } from './access.js';
import { CANCEL } from './cancel.js';
import { CORE } from './core.js';
import { FILES } from './files.js';
import { INPUT } from './input.js';
import { LISTS } from './lists.js';
import { LISTS_BY_METADATA, METADATA } from './metadata.js';
import { REFUSALS } from './refusals.js';
import { RESULT } from './result.js';
import { RETRIES } from './retries.js';
import { RUNS } from './runs.js';
import { SESSION_CHANGES } from './session-changes.js';
import { SESSIONS } from './sessions.js';
import { STREAM } from './stream.js';
import { OWNERS_OF_UPLOADS, UPLOADS } from './uploads.js';
import { USAGE } from './usage.js';

/**
 * All promises, level by level.
 *
 * @example
 * for (const { id, sentence } of PROMISES) console.log(`${id}: ${sentence}`);
 */
export const PROMISES: readonly ConformancePromise[] = [
  ...CORE,
  ...STREAM,
  ...REFUSALS,
  ...RESULT,
  ...METADATA,
  ...RUNS,
  ...RETRIES,
  ...CANCEL,
  ...SESSIONS,
  ...SESSION_CHANGES,
  ...FILES,
  ...UPLOADS,
  ...LISTS,
  ...LISTS_BY_METADATA,
  ...USAGE,
  ...INPUT,
  ...ACCESS,
  ...OWNERS_OF_UPLOADS,
];
