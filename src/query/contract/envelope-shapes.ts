interface Kind {
  is: (value: unknown) => boolean;
  /** What it must be, for a sentence. */
  called: string;
  /** The same as JSON Schema. */
  schema: Readonly<Record<string, unknown>>;
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

/** An array of `least` to `most` objects with these members. */
function arrayOf(called: string, required: Members, optional: Members, least: number, most: number): Kind {
  const members = Object.entries({ ...required, ...optional });
  const properties = Object.fromEntries(members.map(([name, { schema }]) => [name, schema]));
  const items = { type: 'object', properties, required: Object.keys(required) };
  const isItem = (value: unknown) =>
    !firstFault(value, required, false) && !firstFault(value, optional, true);
  return kind(called, { type: 'array', items, minItems: least, maxItems: most }, (value) => {
    return Array.isArray(value) && value.length >= least && value.length <= most && value.every(isItem);
  });
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
  'an array of up to 1,000 files',
  { name: text, mimeType: text, base64: described(text, 'RFC 4648 §4.') },
  {},
  0,
  1_000,
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

const request = {
  id: described(text, 'Names the request within its run.'),
  kind: kind('a kind', { enum: ['approval', 'input', 'tool', 'auth'] }, (value) => typeof value === 'string'),
  message: described(text, 'What a person is asked.'),
};
const answer = {
  id: described(text, 'That of the request.'),
  outcome: described(text, 'answered, declined, expired, superseded or cancelled.'),
};

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
  result: shape('The structured result of the run, at most one.', { value: anyJson }),
  suggestions: shape('Requests that a person can send next.', { items: suggestedRequests }),
  input_required: shape('The run asks. Written through `context.ask`, never emitted.', {
    requests: described(arrayOf('an array of 1 to 64 requests', request, {}, 1, 64), 'See `InputRequest`.'),
  }),
  input_resolved: shape('Requests of the run were resolved. Written by the service.', {
    answers: described(arrayOf('an array of answers', answer, {}, 1, 64), 'See `ResolvedInput`.'),
  }),
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

/**
 * The standard types that handlers emit: what they are checked for, and what the OpenAPI document says of them.
 *
 * @example
 * SHAPES.get('message')?.required; // { content: … }
 */
export const SHAPES: ReadonlyMap<string, Shape> = new Map(Object.entries(SHAPE_OF_TYPE));

/** Whether the turn of a session keeps the envelopes of a type. */
export function isOfTurn(type: string): boolean {
  return SHAPES.get(type)?.isOfTurn ?? false;
}

/** Says what is wrong with the data of a type. Undefined if nothing is, or if the type is not a standard one. */
export function shapeFault(type: string, data: unknown): string | undefined {
  const shape = SHAPES.get(type);
  if (!shape) return undefined;
  const { required, optional } = shape;
  const missing = firstFault(data, required, false);
  if (missing) return `a \`${type}\` needs \`data.${missing}\`, ${required[missing]!.called}`;
  const name = firstFault(data, optional, true);
  return name && `\`data.${name}\` of a \`${type}\` must be ${optional[name]!.called}`;
}

/** The first member that is not of its kind. */
function firstFault(data: unknown, members: Members, mayBeAbsent: boolean): string | undefined {
  for (const [name, { is }] of Object.entries(members)) {
    const value = member(data, name);
    if (!is(value) && !(mayBeAbsent && value === undefined)) return name;
  }
  return undefined;
}

/** JSON has only the members that an object has itself. */
function member(data: unknown, name: string): unknown {
  if (typeof data !== 'object' || data === null || !Object.hasOwn(data, name)) return undefined;
  return (data as Record<string, unknown>)[name];
}
