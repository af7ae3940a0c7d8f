import type { Question } from 'nest-agent-query';
import type { MastraChunk } from './chunk-envelopes.js';

/** A call of a tool that waits for a person. */
export interface OpenCall {
  /** Whether it is made only if it is approved, or was begun and goes on with an input. */
  kind: 'approval' | 'input';
  id: string;
  name: string;
  arguments?: unknown;
  /** What is asked. */
  message: string;
  /** The JSON Schema of an input. */
  schema?: Record<string, unknown> | boolean;
}

type Payload = Record<string, unknown>;

/** The call that waits because of a chunk; undefined if the chunk is another. */
export function openCallOf({ type, payload }: MastraChunk): OpenCall | undefined {
  const { toolCallId, toolName, args, suspendPayload, resumeSchema } = (payload ?? {}) as Payload;
  const call = { id: toolCallId as string, name: toolName as string };
  const shown = JSON.stringify(toolName);
  if (type === 'tool-call-approval')
    return {
      kind: 'approval',
      ...call,
      arguments: args ?? {},
      message: `May the agent call the tool ${shown}?`,
    };
  if (type !== 'tool-call-suspended') return undefined;
  const message = textOf(suspendPayload) ?? `The tool ${shown} needs an input.`;
  return { kind: 'input', ...call, message, schema: schemaOf(resumeSchema) };
}

/** The question about a call. */
export function questionOf(key: string, call: OpenCall): Question {
  const { kind, id, name, message } = call;
  const about = { key, kind, message, toolCallId: id };
  return kind === 'approval'
    ? { ...about, name, arguments: call.arguments }
    : { ...about, schema: call.schema ?? true };
}

/** What a tool has given when it was suspended, as a text. */
function textOf(given: unknown): string | undefined {
  if (given === undefined || given === null) return undefined;
  const { message } = given as { message?: unknown };
  return [given, message].find((each) => typeof each === 'string') ?? JSON.stringify(given);
}

/** Mastra 1 has the schema as a text, and 0.24 does not say it. */
function schemaOf(schema: unknown): Record<string, unknown> | boolean {
  if (typeof schema !== 'string') return true;
  try {
    const { $schema: _, ...members } = JSON.parse(schema) as Record<string, unknown>;
    return members;
  } catch {
    return true;
  }
}
