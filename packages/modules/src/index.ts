export { loadModule } from './load-module.js';
export { EXIT_CODES, ModuleFailure } from './module-failure.js';
export type { Exports, ModuleProgram, ModuleUse, WatchedModuleUse } from './module-program.js';
export { ModuleReloads } from './module-reloads.js';
