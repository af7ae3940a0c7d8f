interface Schema {
  type?: 'string' | 'boolean' | 'number' | 'array' | 'object';
  minimum?: number;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
}

interface Kind {
  is: (value: unknown) => boolean;
  /** What it must be, for a sentence. */
  called: string;
  /** The same as JSON Schema. */
  schema: Schema;
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

/** An array of objects with these members. */
function arrayOf(called: string, required: Members, optional: Members, least = 0, most = Infinity): Kind {
  const members = { ...required, ...optional };
  const properties = Object.fromEntries(Object.entries(members).map(([name, { schema }]) => [name, schema]));
  const items: Schema = { type: 'object', properties, required: Object.keys(required) };
  const bounds = { ...(least > 0 && { minItems: least }), ...(most < Infinity && { maxItems: most }) };
  return kind(
    called,
    { type: 'array', items, ...bounds },
    (value) =>
      Array.isArray(value) &&
      value.length >= least &&
      value.length <= most &&
      value.every((item) => memberFault(item, { required, optional }) === undefined),
  );
}

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

const suggestedFiles = arrayOf(
  'an array of files',
  { name: text, mimeType: text, base64: described(text, 'RFC 4648 §4.') },
  {},
);
const suggestedRequests = arrayOf(
  'an array of 1 to 8 requests with a `text`, and optionally a `label` and `files`',
  { text: described(text, 'What is sent.') },
  {
    label: described(text, 'What is shown in its place.'),
    files: described(suggestedFiles, 'Files that are sent with it.'),
  },
  1,
  8,
);

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
  suggestions: shape('Requests that a person can send next.', { items: suggestedRequests }),
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
  const fault = memberFault(data, shape);
  if (!fault) return undefined;
  const { name, called, isMissing } = fault;
  return isMissing
    ? `a \`${type}\` needs \`data.${name}\`, ${called}`
    : `\`data.${name}\` of a \`${type}\` must be ${called}`;
}

/** The first member that an object lacks, or that is not of its kind. */
function memberFault(
  data: unknown,
  { required, optional }: Pick<Shape, 'required' | 'optional'>,
): { name: string; called: string; isMissing: boolean } | undefined {
  for (const [name, { is, called }] of Object.entries(required)) {
    if (!is(member(data, name))) return { name, called, isMissing: true };
  }
  for (const [name, { is, called }] of Object.entries(optional)) {
    const value = member(data, name);
    if (value !== undefined && !is(value)) return { name, called, isMissing: false };
  }
  return undefined;
}

/** JSON has only the members that an object has itself. */
function member(data: unknown, name: string): unknown {
  if (typeof data !== 'object' || data === null || !Object.hasOwn(data, name)) return undefined;
  return (data as Record<string, unknown>)[name];
}
