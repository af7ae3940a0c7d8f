/**
 * What packages with agents need besides the package root: `nest-agent-query/agents`.
 *
 * WARNING: other packages depend on every name below, as on those of the package root.
 */
export {
  HandedOver,
  isInRange,
  newProcessDirectory,
  type Range,
  rangeText,
  removeAbandonedDirectories,
  settlesWithin,
  textForLog,
  withoutSecrets,
} from '../query/index.js';
export { MODEL_NUMBERS, type ModelInputKind, type ModelKwarg, TEMPERATURES } from './model-numbers.js';
