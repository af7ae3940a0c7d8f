import type { RunItem } from '@openai/agents';
import { type Envelope, toolResult } from 'nest-agent-query';
import { shownResult } from 'nest-agent-query-adapters';
import { outputFile } from './output-files.js';

type Result = Extract<RunItem, { type: 'tool_call_output_item' }>['rawItem'];

/** What is known of the calls of a run besides their results. */
export interface ToolOutcomes {
  /** What callers read of a tool that has thrown. */
  failure(tool: string, error: string): string;
  /** Whether somebody has refused a call. Its result says why. */
  isRefused(callId: string): boolean;
}

/** How the framework's own sentence begins that it gives to the model for a tool that has thrown. The error's text follows. */
const THROWN = 'An error occurred while running the tool.';

/** Its other sentences in place of a result. */
const NO_RESULT =
  /^An error occurred while parsing tool arguments\.|^Tool execution was not approved\.$|^Tool '.*' timed out after \d+ms\.$/;

/**
 * The envelopes of the result of a call: the result, and its files.
 *
 * @param value what the tool has returned, where it is known: the framework shows it to models as a text
 */
export function resultEnvelopes(result: Result, value: unknown, outcomes: ToolOutcomes): Envelope[] {
  const { callId } = result as { callId?: string };
  if (callId === undefined) return [];
  const name = 'name' in result ? result.name : result.type.replace(/_call_(?:result|output)$/, '');
  const files: Envelope[] = [];
  const content = contentOf(result.output, value, name, files);
  if (typeof content !== 'string') return [toolResult(callId, shownResult(content)), ...files];
  if (content.startsWith(THROWN))
    return [toolResult(callId, outcomes.failure(name, content), { isError: true })];
  const isError = outcomes.isRefused(callId) || NO_RESULT.test(content) || undefined;
  return [toolResult(callId, shownResult(content), { isError }), ...files];
}

/** A tool's result as JSON. Its files become envelopes of their own. */
function contentOf(shown: unknown, value: unknown, name: string, files: Envelope[]): unknown {
  if (Array.isArray(shown)) return shown.map((part) => partOf(part, name, files));
  const part = partOf(shown, name, files);
  return files.length === 0 && isJson(value) ? value : part;
}

function partOf(part: unknown, name: string, files: Envelope[]): unknown {
  if (typeof part !== 'object' || part === null) return part ?? null;
  const { type, text, image, file, data, filename } = part as Record<string, unknown>;
  const content = image ?? file ?? (type === 'computer_screenshot' ? data : undefined);
  const mimeType = file === undefined ? 'image/png' : 'application/octet-stream';
  const made = outputFile(content, mimeType, name, typeof filename === 'string' ? filename : undefined);
  if (!made) return typeof text === 'string' ? text : part;
  files.push(made.envelope);
  return made.description;
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}
