/** What a member of the data must be. */
interface Kind {
  is: (value: unknown) => boolean;
  /** What it must be, for a sentence. */
  called: string;
  /** The same as JSON Schema. */
  schema: { type?: 'string' | 'boolean' | 'number'; minimum?: number; description?: string };
}

const text: Kind = {
  is: (value) => typeof value === 'string',
  called: 'a string',
  schema: { type: 'string' },
};
const flag: Kind = {
  is: (value) => typeof value === 'boolean',
  called: 'true or false',
  schema: { type: 'boolean' },
};
const count: Kind = {
  is: (value) => Number.isFinite(value) && (value as number) >= 0,
  called: 'a number from 0',
  schema: { type: 'number', minimum: 0 },
};
const anyJson: Kind = {
  is: (value) => !['undefined', 'function', 'symbol'].includes(typeof value),
  called: 'a value that JSON can represent',
  schema: { description: 'Any JSON value.' },
};

function described(kind: Kind, description: string): Kind {
  return { ...kind, schema: { ...kind.schema, description } };
}

/** A standard type that handlers emit. Its data may have other members: they are passed on unchanged. */
export interface Shape {
  description: string;
  required: Record<string, Kind>;
  optional?: Record<string, Kind>;
  /** Whether the turn of a session keeps it. Absent: it does. `false`: it says how the run proceeds. */
  isOfTurn?: false;
}

const messageId = described(text, 'Neighbouring parts with one id belong together.');

/** The standard types that handlers emit: what they are checked for, and what the OpenAPI document says of them. */
export const SHAPES: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  [
    'message',
    {
      description: 'A part of the text of the answer.',
      required: { content: text },
      optional: { id: messageId },
    },
  ],
  [
    'reasoning',
    {
      description: 'A part of the reasoning that the model shows.',
      required: { content: text },
      optional: { id: messageId },
    },
  ],
  [
    'tool_call',
    {
      description: 'The agent calls a tool.',
      required: { id: described(text, 'Its result has the same id.'), name: text, arguments: anyJson },
    },
  ],
  [
    'tool_result',
    {
      description: 'What a tool has returned.',
      required: { id: described(text, 'That of the call.'), content: anyJson },
      optional: { isError: described(flag, 'Whether the call has failed.') },
    },
  ],
  [
    'file',
    {
      description: 'A file of the answer.',
      required: {
        name: text,
        mimeType: text,
        size: described(count, 'Bytes.'),
        sha256: described(text, 'Of the content, SHA-256 in lower-case hexadecimal.'),
        path: described(text, '`GET` returns the content.'),
      },
    },
  ],
  [
    'source',
    {
      description: 'A source of the answer.',
      required: { url: text },
      optional: { title: described(text, 'For people.') },
    },
  ],
  [
    'usage',
    {
      description: 'What the models have used since the last envelope of this type.',
      required: { inputTokens: count, outputTokens: count },
      optional: {
        reasoningTokens: count,
        cachedInputTokens: count,
        model: described(text, 'The name of the model.'),
      },
    },
  ],
  ['log', { description: 'Diagnostic or progress text.', required: { message: text }, isOfTurn: false }],
  [
    'progress',
    {
      description: 'How much of long work is done.',
      required: { done: count },
      optional: {
        total: count,
        unit: described(text, 'What is counted.'),
        label: described(text, 'What the work is.'),
      },
      isOfTurn: false,
    },
  ],
]);

export function isStandard(type: string): boolean {
  return SHAPES.has(type);
}

/** Whether the turn of a session keeps the envelopes of a type. */
export function isOfTurn(type: string): boolean {
  return SHAPES.has(type) && SHAPES.get(type)!.isOfTurn !== false;
}

/** Says what is wrong with the data of a type. Undefined if nothing is, or if the type is not a standard one. */
export function shapeFault(type: string, data: unknown): string | undefined {
  const shape = SHAPES.get(type);
  if (!shape) return undefined;
  for (const [name, { is, called }] of Object.entries(shape.required)) {
    if (!is(member(data, name))) return `a \`${type}\` needs \`data.${name}\`, ${called}`;
  }
  for (const [name, { is, called }] of Object.entries(shape.optional ?? {})) {
    const value = member(data, name);
    if (value !== undefined && !is(value)) return `\`data.${name}\` of a \`${type}\` must be ${called}`;
  }
  return undefined;
}

/** JSON has only the members that an object has itself. */
function member(data: unknown, name: string): unknown {
  if (typeof data !== 'object' || data === null || !Object.hasOwn(data, name)) return undefined;
  return (data as Record<string, unknown>)[name];
}
