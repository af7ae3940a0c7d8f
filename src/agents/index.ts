/**
 * What packages with agents need besides the package root: `nest-agent-query/agents`.
 *
 * WARNING: other packages depend on every name below, as on those of the package root.
 */
import { OPTIONS } from '../query/index.js';

export {
  HandedOver,
  isInRange,
  jittered,
  linesForLog,
  newProcessDirectory,
  type Range,
  rangeText,
  refuseUnknown,
  removeAbandonedDirectories,
  settlesWithin,
  stackForLog,
  textForLog,
  withoutSecrets,
} from '../query/index.js';
export { type ModelInputKind, type ModelKwarg, TEMPERATURES } from './model-values.js';

/**
 * The numbers of the agent `model`: their ranges and defaults.
 *
 * @example
 * MODEL_NUMBERS.retries.range; // [0, 10]
 */
export const MODEL_NUMBERS = OPTIONS.model;
