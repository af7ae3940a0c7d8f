/**
 * Jest's runtime, which keeps the modules of the packages and of this repository for the suites that the process executes
 * after this one. Only specs, and the tools of tests that register hooks, are evaluated for each suite anew.
 *
 * `ISOLATED=1` gives each suite modules of its own, as Jest does by default: a test that needs what an earlier suite has
 * left in a module fails then. A suite that replaces timers has its own in any case, because timers of others would count:
 * `@jest-environment-options {"isIsolated": true}`.
 */
const { default: Runtime } = require('jest-runtime');

/** What is evaluated for each suite: its file, and what calls `afterAll` and the like when it is imported. Not what is in `kept`. */
const OF_ONE_SUITE = /^@jest\/globals|\.spec\.ts$|\/test\/(?!support\/kept\/)/;

/** What Jest itself evaluates for each suite, because it keeps something of it. Its other modules, such as `expect`, do not. */
const OF_ONE_EXECUTION = /\/node_modules\/(?:jest-circus|source-map-support)\//;

let shared;
/** Each run of Jest has one of its own: with `--watch`, sources may have changed since the last one. */
let resolverOfRun;

module.exports = class SharedRuntime extends Runtime {
  constructor(...parameters) {
    const [, environment, resolver] = parameters;
    if (environment.isShared && shared && resolver === resolverOfRun) {
      shared.#begin(parameters.at(-2));
      return shared;
    }
    super(...parameters);
    if (!environment.isShared) return;
    shared = this;
    resolverOfRun = resolver;
  }

  #begin(testPath) {
    this._testPath = this.esmLoader.testPath = this.executor.testPath = testPath;
    this.testState.state = 'loading';
  }

  teardown() {
    if (this !== shared) return super.teardown();
    this.restoreAllMocks();
    const { esModuleRegistry, internalModuleRegistry, moduleMockRegistry, mockRegistry } = this.registries;
    for (const key of esModuleRegistry.keys()) if (OF_ONE_SUITE.test(key)) esModuleRegistry.delete(key);
    for (const key of internalModuleRegistry.keys())
      if (OF_ONE_EXECUTION.test(key)) internalModuleRegistry.delete(key);
    for (const registry of [moduleMockRegistry, mockRegistry]) registry.clear();
    this.mockState.clear();
    this.jestGlobals.clearJestObjectCache();
    this.jestGlobals.cachedEnvGlobals = undefined;
  }
};
