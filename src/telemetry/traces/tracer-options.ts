/** How runs are named in traces. */
export interface TracerOptions {
  /** The name of the agent: `gen_ai.agent.name`, and a part of the name of the span. Default: none. */
  agentName?: string;
  /** Who provides the agent: `gen_ai.provider.name`, for example `openai`. Default `nest_agent_query`. */
  providerName?: string;
}
