import { type Attributes, type Span, SpanStatusCode } from '@opentelemetry/api';
import type { RunEnd, TracedRun } from '../../query/index.js';

/** How runs are named in traces. */
export interface TracerOptions {
  /** The name of the agent: `gen_ai.agent.name`, and a part of the name of the span. Default: none. */
  agentName?: string;
  /** Who provides the agent: `gen_ai.provider.name`, for example `openai`. Default `nest_agent_query`. */
  providerName?: string;
}

/** Attributes of our own. Those of `gen_ai` and `error` are of the semantic conventions. */
export const RUN_ID = 'nest_agent_query.run.id';
export const ATTEMPT = 'nest_agent_query.run.attempt';
export const STATUS = 'nest_agent_query.run.status';
export const WAITS = 'nest_agent_query.run.waits';
export const REPEATED = 'nest_agent_query.run.repeated';
/** How many answers a run waits for. */
export const REQUESTS = 'nest_agent_query.input.requests';
export const AFTER = 'nest_agent_query.resume.after';

/** Callers choose the ids of sessions, of any length. */
const CONVERSATION_LENGTH = 255;

/** The members of `usage` envelopes, each with its attribute. */
const USAGE = {
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedInputTokens: 'gen_ai.usage.cache_read.input_tokens',
} as const;

/** What the span of a run begins with. Samplers decide by it. */
export function invocationOf(
  { id, sessionId }: Pick<TracedRun, 'id' | 'sessionId'>,
  { agentName, providerName = 'nest_agent_query' }: TracerOptions,
): Attributes {
  return {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': providerName,
    ...(agentName !== undefined && { 'gen_ai.agent.name': agentName }),
    ...(sessionId !== undefined && { 'gen_ai.conversation.id': sessionId.slice(0, CONVERSATION_LENGTH) }),
    [RUN_ID]: id,
  };
}

export function recordUsage(span: Span, usage: Readonly<Record<string, number>>): void {
  for (const [name, attribute] of Object.entries(USAGE)) {
    const count = usage[name];
    if (count !== undefined) span.setAttribute(attribute, count);
  }
}

/** A run that was cancelled has no error: somebody wanted that. */
export function recordEnd(span: Span, end: RunEnd): void {
  span.setAttribute(STATUS, end.status);
  if (end.status === 'failed') recordError(span, end.error.code);
}

/** The message of an error is not recorded: that of a host may have contents. */
export function recordError(span: Span, code: string): void {
  span.setAttribute('error.type', code);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
