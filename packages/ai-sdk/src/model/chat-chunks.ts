/** A chunk of a chat completion, as the AI SDK reads it; or an error in its place. */
export interface ChatChunk {
  model?: string;
  choices?: (Choice | null)[];
  usage?: unknown;
  error?: unknown;
}

interface Choice {
  delta?: Message | null;
  /** In a chat completion that is no stream. */
  message?: Message | null;
  finish_reason?: string | null;
}

interface Message {
  tool_calls?: ToolCall[] | null;
}

interface ToolCall {
  index?: number | null;
  function?: { arguments?: unknown } | null;
}

/**
 * What an endpoint has sent as a chunk.
 *
 * @param value any JSON; undefined if it was none
 * @returns undefined if it has neither choices nor usage nor an error
 */
export function chunkOf(value: unknown): ChatChunk | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { model, choices, ...members } = value as ChatChunk;
  const { error, usage } = members;
  if (error != null && !Array.isArray(choices))
    return { error: typeof error === 'string' ? { message: error } : error };
  if (!Array.isArray(choices) && (typeof usage !== 'object' || usage === null)) return undefined;
  return {
    ...members,
    // An empty name is no name: the one that is configured is taken then.
    ...(typeof model === 'string' && model !== '' && { model }),
    choices: Array.isArray(choices) ? choices.map(streamed) : [],
  };
}

function streamed(choice: Choice | null): Choice | null {
  if (choice?.delta) return { ...choice, delta: withTextArguments(choice.delta) };
  if (!choice?.message) return choice;
  const { message, ...members } = choice;
  const calls = message.tool_calls?.map((call, index) => ({ ...call, index }));
  const delta = withTextArguments({ ...message, ...(calls && { tool_calls: calls }) });
  return { ...members, delta, finish_reason: choice.finish_reason ?? 'stop' };
}

/** Some endpoints send the arguments of a call as an object, and not as its text. */
function withTextArguments(message: Message): Message {
  if (!Array.isArray(message.tool_calls)) return message;
  const calls = message.tool_calls.map((call) => {
    const given = call?.function?.arguments;
    if (typeof given !== 'object' || given === null) return call;
    return { ...call, function: { ...call.function, arguments: JSON.stringify(given) } };
  });
  return { ...message, tool_calls: calls };
}
