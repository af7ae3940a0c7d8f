import type { AgentInputItem } from '@openai/agents';
import type { AnyAgent } from './framework.js';
import type { KeptState } from './kept-state.js';

/**
 * What a checkpoint has: the items that the agents have made since the question, and the agent that goes on. The framework's own
 * state is stored only where it asks: it does not continue with a session, nor after a handoff.
 */
export interface KeptSteps {
  agent: string;
  items: AgentInputItem[];
  /** The keys of the questions that were answered. */
  asked?: readonly string[];
  /** How many items the run has added to the memory; absent if there is none, or nobody knows. */
  addedToMemory?: number;
  /** Present if the run asks: how the framework goes on after the items. */
  state?: KeptState;
}

/**
 * Finds an agent to which an agent may hand over.
 *
 * @throws Error there is none with this name
 */
export function agentNamed(name: string, first: AnyAgent): AnyAgent {
  const found = new Set([first]);
  for (const agent of found) {
    if (agent.name === name) return agent;
    for (const next of agent.handoffs) found.add('agent' in next ? (next.agent as AnyAgent) : next);
  }
  throw new Error(`The run cannot go on: no agent has the name ${JSON.stringify(name)} any more.`);
}
