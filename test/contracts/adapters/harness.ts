import type { AdapterOptions } from 'nest-agent-query-adapters';
import type { AgentHandler } from '../../../src/query/index.js';
import type { AskingCase } from './asking-cases.js';
import type { AdapterCase } from './cases.js';
import type { FakeModel } from './fake-model.js';

/** A tool whose arguments are an object with any members. */
export interface FakeTool {
  name: string;
  execute: (args: Record<string, unknown>) => unknown;
}

/** An adapter with its framework, for the contract of adapters. */
export interface AdapterHarness {
  /** The name of the subpath, such as `ai-sdk`. */
  name: string;
  /** Makes a handler of an agent of the framework, which uses this model and these tools. */
  create(model: FakeModel, tools: FakeTool[], options?: AdapterOptions): AgentHandler | Promise<AgentHandler>;
  /** What the framework cannot do, each with the reason. These cases are not tested. */
  cannot: Partial<Record<AdapterCase, string>>;
}

/** A tool that needs an approval, or that the caller executes. Its arguments are `{ amount: number }`. */
export interface AskingTool {
  name: string;
  needsApproval: boolean;
  /** Undefined: the caller executes it. */
  execute: ((args: Record<string, unknown>) => unknown) | undefined;
}

/** An adapter with its framework, for the contract of adapters that ask. */
export interface AskingHarness {
  name: string;
  create(
    model: FakeModel,
    tools: AskingTool[],
    options?: AdapterOptions,
  ): AgentHandler | Promise<AgentHandler>;
  /** What the framework cannot do, each with the reason. These cases are not tested. */
  cannot: Partial<Record<AskingCase, string>>;
}
