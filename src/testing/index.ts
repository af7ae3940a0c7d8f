/**
 * Tools for the tests of hosts and handlers, for any test runner: `nest-agent-query/testing`.
 *
 * WARNING: hosts depend on every name below, as on those of the package root.
 */
export { Clock, type TimedOption } from '../query/index.js';
export { type Answer, type AnswerFile, ask, type AskedPart, type AskOptions } from './ask.js';
export { collect } from './collect.js';
export { type ContextInput, contextOf, type TestContext, type TurnInput } from './context-of.js';
export type { FileInput, PartInput, PartsInput, WirePart } from './part-input.js';
export { queryOf } from './query-of.js';
export { ScriptedCall, ScriptedHandler, type ScriptOptions } from './scripted-handler.js';
export { TestClock } from './test-clock.js';
