import type { ToolResultPart, ToolSet } from 'ai';

/** What a model is given of a result. */
export type ToolOutput = ToolResultPart['output'];

/** A call, as the SDK has it in messages and in streams. */
export interface CallOfTool {
  toolCallId: string;
  toolName: string;
  input: unknown;
}

/** The tool with this name; undefined if the agent has none. Models choose names. */
export function toolOf(tools: ToolSet, name: string): ToolSet[string] | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}

/** A result as the SDK makes it for a model. */
export async function toolOutput(
  tools: ToolSet,
  { toolCallId, toolName, input }: CallOfTool,
  result: unknown,
  isError = false,
): Promise<ToolOutput> {
  const tool = toolOf(tools, toolName);
  if (tool?.toModelOutput && !isError)
    return tool.toModelOutput({ toolCallId, input, output: result as never });
  if (typeof result === 'string') return { type: isError ? 'error-text' : 'text', value: result };
  return { type: isError ? 'error-json' : 'json', value: (result ?? null) as never };
}
