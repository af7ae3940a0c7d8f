import { isDeepStrictEqual } from 'node:util';
import type { AgentInputItem, RunContext } from '@openai/agents';
import type { State } from './agent-stream.js';
import type { AnyAgent, Framework } from './framework.js';

/** What is made anew for each attempt. */
interface RunOrigin {
  /** Has the context of the tools. */
  runContext: RunContext<unknown>;
  /** What the run began with. */
  input: AgentInputItem[];
}

/** The framework's own state of a run that asks, as JSON. */
export type KeptState = Record<string, unknown>;

/**
 * The state of a run that asks. It does not contain the context of the tools, which may be no JSON and have secrets, nor the items
 * that are made of the query: their files are too large.
 */
export function keptState(state: State, { runContext, input }: RunOrigin): KeptState {
  const { context } = runContext;
  runContext.context = {};
  try {
    const json = withoutContext(state.toJSON());
    return { ...json, originalInput: replaced(json['originalInput'], (item) => placeOf(item, input)) };
  } finally {
    runContext.context = context;
  }
}

/**
 * The state again, with the context and the items that were left out.
 *
 * @throws {Error} the framework does not know its form any more, or an agent or a tool of it is not there any more
 */
export async function restoredState(
  { RunState }: Framework,
  agent: AnyAgent,
  kept: KeptState,
  { runContext, input }: RunOrigin,
): Promise<State> {
  const originalInput = replaced(kept['originalInput'], (item) => itemAt(item, input));
  const text = JSON.stringify({ ...kept, originalInput });
  return RunState.fromStringWithContext(agent, text, runContext);
}

/** States of agents that were called as tools are inside, and have the same context. */
function withoutContext(state: KeptState): KeptState {
  const { context, pendingAgentToolRuns = {} } = state as { context: object; pendingAgentToolRuns?: object };
  const inner = Object.entries(pendingAgentToolRuns).map(([name, text]: [string, string]) => {
    return [name, JSON.stringify(withoutContext(JSON.parse(text) as KeptState))];
  });
  return {
    ...state,
    context: { ...context, context: {} },
    pendingAgentToolRuns: Object.fromEntries(inner) as object,
  };
}

function replaced(items: unknown, by: (item: unknown) => unknown): unknown {
  return Array.isArray(items) ? items.map(by) : items;
}

function placeOf(item: unknown, input: AgentInputItem[]): unknown {
  const place = input.findIndex((each) => isDeepStrictEqual(each, item));
  return place === -1 ? item : { place };
}

function itemAt(item: unknown, input: AgentInputItem[]): unknown {
  const { place } = item as { place?: number };
  return place === undefined ? item : input[place];
}
