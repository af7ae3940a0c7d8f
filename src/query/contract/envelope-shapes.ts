interface Kind {
  is: (value: unknown) => boolean;
  /** What it must be, for a sentence. */
  called: string;
  /** The same as JSON Schema. */
  schema: { type?: 'string' | 'boolean' | 'number'; minimum?: number; description?: string };
}

function kind(called: string, schema: Kind['schema'], is: Kind['is']): Kind {
  return { is, called, schema };
}

const text = kind('a string', { type: 'string' }, (value) => typeof value === 'string');
const flag = kind('true or false', { type: 'boolean' }, (value) => typeof value === 'boolean');
const count = kind(
  'a number from 0',
  { type: 'number', minimum: 0 },
  (value) => Number.isFinite(value) && Number(value) >= 0,
);
const anyJson = kind(
  'a value that JSON can represent',
  { description: 'Any JSON value.' },
  (value) => !['undefined', 'function', 'symbol'].includes(typeof value),
);

function described(kind: Kind, description: string): Kind {
  return { ...kind, schema: { ...kind.schema, description } };
}

type Members = Record<string, Kind>;

/** A standard type that handlers emit. Its data may have other members: they are passed on unchanged. */
export interface Shape {
  description: string;
  required: Members;
  optional: Members;
  /** Whether the turn of a session keeps it. It does not keep what says how the run proceeds. */
  isOfTurn: boolean;
}

function shape(description: string, required: Members, optional: Members = {}, isOfTurn = true): Shape {
  return { description, required, optional, isOfTurn };
}

const messageId = described(text, 'Neighbouring parts with one id belong together.');

const SHAPE_OF_TYPE = {
  message: shape('A part of the text of the answer.', { content: text }, { id: messageId }),
  reasoning: shape('A part of the reasoning that the model shows.', { content: text }, { id: messageId }),
  tool_call: shape('The agent calls a tool.', {
    id: described(text, 'Its result has the same id.'),
    name: text,
    arguments: anyJson,
  }),
  tool_result: shape(
    'What a tool has returned.',
    { id: described(text, 'That of the call.'), content: anyJson },
    { isError: described(flag, 'Whether the call has failed.') },
  ),
  file: shape('A file of the answer.', {
    name: text,
    mimeType: text,
    size: described(count, 'Bytes.'),
    sha256: described(text, 'Of the content, SHA-256 in lower-case hexadecimal.'),
    path: described(text, '`GET` returns the content.'),
  }),
  source: shape('A source of the answer.', { url: text }, { title: described(text, 'For people.') }),
  usage: shape(
    'What the models have used since the last envelope of this type.',
    { inputTokens: count, outputTokens: count },
    { reasoningTokens: count, cachedInputTokens: count, model: described(text, 'The name of the model.') },
  ),
  log: shape('Diagnostic or progress text.', { message: text }, {}, false),
  progress: shape(
    'How much of long work is done.',
    { done: count },
    { total: count, unit: described(text, 'What is counted.'), label: described(text, 'What the work is.') },
    false,
  ),
};

/** The standard types that handlers emit: what they are checked for, and what the OpenAPI document says of them. */
export const SHAPES: ReadonlyMap<string, Shape> = new Map(Object.entries(SHAPE_OF_TYPE));

/** Whether the turn of a session keeps the envelopes of a type. */
export function isOfTurn(type: string): boolean {
  return SHAPES.get(type)?.isOfTurn ?? false;
}

/** Says what is wrong with the data of a type. Undefined if nothing is, or if the type is not a standard one. */
export function shapeFault(type: string, data: unknown): string | undefined {
  const shape = SHAPES.get(type);
  if (!shape) return undefined;
  for (const [name, { is, called }] of Object.entries(shape.required)) {
    if (!is(member(data, name))) return `a \`${type}\` needs \`data.${name}\`, ${called}`;
  }
  for (const [name, { is, called }] of Object.entries(shape.optional)) {
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
