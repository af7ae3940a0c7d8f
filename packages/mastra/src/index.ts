/** The adapter of Mastra, as hosts import it from `nest-agent-query-mastra`. */
export { fromMastra } from './from-mastra.js';
export type {
  MastraAgent,
  MastraMemory,
  MastraOptions,
  MastraStream,
  MastraStreamOptions,
} from './mastra-options.js';
