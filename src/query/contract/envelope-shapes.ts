/** What a member of the data must be. */
interface Kind {
  is: (value: unknown) => boolean;
  /** What it must be, for a sentence. */
  called: string;
}

const text: Kind = { is: (value) => typeof value === 'string', called: 'a string' };
const flag: Kind = { is: (value) => typeof value === 'boolean', called: 'true or false' };
const count: Kind = {
  is: (value) => Number.isFinite(value) && (value as number) >= 0,
  called: 'a number from 0',
};
const anyJson: Kind = {
  is: (value) => !['undefined', 'function', 'symbol'].includes(typeof value),
  called: 'a value that JSON can represent',
};

/** The members that the data of a type has. It may have others: they are passed on unchanged. */
interface Shape {
  required: Record<string, Kind>;
  optional?: Record<string, Kind>;
}

/** The standard types that handlers emit. */
const SHAPES = new Map<string, Shape>([
  ['message', { required: { content: text }, optional: { id: text } }],
  ['log', { required: { message: text } }],
  ['reasoning', { required: { content: text }, optional: { id: text } }],
  ['tool_call', { required: { id: text, name: text, arguments: anyJson } }],
  ['tool_result', { required: { id: text, content: anyJson }, optional: { isError: flag } }],
  ['file', { required: { name: text, mimeType: text, size: count, sha256: text, path: text } }],
  ['source', { required: { url: text }, optional: { title: text } }],
  ['progress', { required: { done: count }, optional: { total: count, unit: text, label: text } }],
  [
    'usage',
    {
      required: { inputTokens: count, outputTokens: count },
      optional: { reasoningTokens: count, cachedInputTokens: count, model: text },
    },
  ],
]);

/** Standard types that say how the run proceeds, and are no part of the answer. */
const PASSING = new Set(['log', 'progress']);

/** Whether a type has a defined shape. */
export function isStandard(type: string): boolean {
  return SHAPES.has(type);
}

/** Whether the turn of a session keeps the envelopes of a type. */
export function isOfTurn(type: string): boolean {
  return SHAPES.has(type) && !PASSING.has(type);
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
