/** The Claude Agent SDK, as far as the handler uses it: the same in all versions from 0.3.332 on. */

/** What a call of `query()` says. Its other members depend on `type`. */
export type ClaudeMessage = Record<string, unknown> & { type: string };

/** A query that runs. */
export interface ClaudeExecution extends AsyncIterable<ClaudeMessage> {
  /** Stops the turn: a result follows. Rejects when the program has ended already. */
  interrupt(): Promise<unknown>;
}

/** A message to the model: its parts in the form of Anthropic's messages. */
export interface ClaudePrompt {
  type: 'user';
  message: { role: 'user'; content: ClaudeBlock[] };
  parent_tool_use_id: null;
}

/** A part of such a message. */
export type ClaudeBlock =
  | { type: 'text'; text: string }
  | {
      type: 'image' | 'document';
      source: { type: 'base64'; media_type: string; data: string };
      title?: string;
    };

/** A tool call, as the hook `PreToolUse` is told of it. */
export interface HookedCall {
  tool_name: string;
  tool_input: unknown;
  tool_use_id: string;
  /** Present if a subagent makes the call. */
  agent_id?: string;
  /** Absent if the call waits since an earlier query. */
  prompt_id?: string;
}

/** Options of `query()`. */
export type ClaudeQueryOptions = Record<string, unknown>;

/** The function `query` of the SDK. */
export type ClaudeQuery = (params: {
  prompt: AsyncIterable<ClaudePrompt>;
  options: never;
}) => ClaudeExecution;

const SDK = '@anthropic-ai/claude-agent-sdk';

/** @throws {Error} the SDK is not installed, or is none */
export async function installedQuery(): Promise<ClaudeQuery> {
  try {
    // The package is optional, and has native parts: it is loaded at the first use.
    const { query } = (await import(SDK)) as { query: ClaudeQuery };
    return query;
  } catch (cause) {
    throw new Error(`fromClaudeAgent needs the Claude Agent SDK. Install it: npm install ${SDK}`, { cause });
  }
}
