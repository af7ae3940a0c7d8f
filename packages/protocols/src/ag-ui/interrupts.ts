import type { InputRequest } from 'nest-agent-query';
import { digestOf } from '../view/json.js';

type Json = Record<string, unknown>;

/** Why a run asks, in the words of AG-UI. */
const REASONS = {
  approval: 'confirmation',
  input: 'input_required',
  tool: 'tool_call',
  auth: 'nest-agent-query:auth',
} as const;

/** Whether the client only executes calls. Then the run ends as a success, and the results come as messages of tools. */
export function isOfTools(requests: readonly InputRequest[]): boolean {
  return requests.every(({ kind, toolCallId }) => kind === 'tool' && toolCallId !== undefined);
}

/**
 * A request as an interrupt.
 *
 * @param runId the run of AG-UI that is interrupted
 */
export function interruptOf(request: InputRequest, runId: string): Json {
  const { id, kind, message, toolCallId, name, arguments: input, url, expiresAt } = request;
  const responseSchema = schemaOf(request);
  return {
    id,
    reason: toolCallId === undefined ? REASONS[kind] : 'tool_call',
    message,
    toolCallId,
    responseSchema,
    expiresAt,
    metadata: {
      ...{ kind, toolName: name, input, url },
      'tanstack:interruptBinding': {
        ...{ kind: 'generic', interruptId: id, interruptedRunId: runId, generation: 0 },
        responseSchemaHash: responseSchema && schemaHash(responseSchema),
      },
    },
  };
}

/** The JSON Schema of a payload; undefined if any payload is valid. */
function schemaOf({ kind, schema = { type: 'string' }, editable }: InputRequest): Json | undefined {
  if (kind === 'input') return typeof schema === 'object' ? schema : undefined;
  if (kind === 'tool') return undefined;
  if (kind === 'auth') return { type: 'object' };
  const editedArgs = { type: 'object' };
  const properties = { approved: { type: 'boolean' }, ...(editable && { editedArgs }) };
  return { type: 'object', properties, required: ['approved'] };
}

/** TanStack AI's client lets a person answer an interrupt only if it has this digest of the schema. */
function schemaHash(schema: Json): string {
  return `sha256:${digestOf(sorted(schema))}`;
}

/** The value with the members of all objects in the order of their names. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted((value as Json)[name])]));
}
