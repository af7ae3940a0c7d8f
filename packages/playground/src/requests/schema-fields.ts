import type { InputRequest } from 'nest-agent-query-client';

/** What all fields of a form have. */
interface Common {
  /** The JSON Pointer (RFC 6901) of its value in the answer. */
  pointer: string;
  label: string;
  description?: string | undefined;
  isRequired: boolean;
  /** The value that the schema proposes. */
  proposed?: unknown;
}

export interface TextField extends Common {
  kind: 'text';
  format?: string | undefined;
  minLength?: number | undefined;
  maxLength?: number | undefined;
}

export interface NumberField extends Common {
  kind: 'number';
  isInteger: boolean;
  minimum?: number | undefined;
  maximum?: number | undefined;
}

export interface ChoiceField extends Common {
  kind: 'choice';
  options: { label: string; value: unknown }[];
}

export interface GroupField extends Common {
  kind: 'group';
  fields: { name: string; field: Field }[];
}

/** A field of a form: `flag` is true or false, and `json` anything that the other kinds cannot show. */
export type Field =
  | TextField
  | NumberField
  | ChoiceField
  | GroupField
  | (Common & { kind: 'flag' })
  | (Common & { kind: 'json' });

type Schema = Record<string, unknown>;

/** An object in so many others is written as JSON, and so is one with more members. */
const DEPTH = 4;
const MEMBERS = 50;

/** Words that can say more about a value than a field shows. */
const COMPOSED = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'not'];

/**
 * The form for a JSON Schema (draft 2020-12): strings, numbers, integers, booleans, choices (`enum`, `const`, and `oneOf` of constants)
 * and objects of these. Everything else is a field for JSON. The service checks the answer with the whole schema.
 *
 * @param schema absent if the answer is a string
 */
export function fieldOf(schema: InputRequest['schema']): Field {
  return fieldAt(schema === undefined ? { type: 'string' } : schema, '', 'Your answer', true, 0);
}

function fieldAt(given: unknown, pointer: string, name: string, isRequired: boolean, depth: number): Field {
  const schema = isObject(given) ? given : {};
  const { type, default: proposed } = schema;
  const common = {
    pointer,
    label: textOf(schema['title']) ?? name,
    description: textOf(schema['description']),
    isRequired,
    proposed,
  };
  const options = optionsOf(schema);
  if (options) return { ...common, kind: 'choice', options };
  if (COMPOSED.some((word) => word in schema)) return { ...common, kind: 'json' };
  if (type === 'string') {
    const { format, minLength, maxLength } = schema;
    const length = { minLength: numberOf(minLength), maxLength: numberOf(maxLength) };
    return { ...common, kind: 'text', format: textOf(format), ...length };
  }
  if (type === 'number' || type === 'integer') {
    const range = { minimum: numberOf(schema['minimum']), maximum: numberOf(schema['maximum']) };
    return { ...common, kind: 'number', isInteger: type === 'integer', ...range };
  }
  if (type === 'boolean') return { ...common, kind: 'flag' };
  const fields = type === 'object' && depth < DEPTH ? membersOf(schema, pointer, depth) : [];
  if (fields.length === 0 || fields.length > MEMBERS) return { ...common, kind: 'json' };
  return { ...common, kind: 'group', fields };
}

function membersOf({ properties, required }: Schema, pointer: string, depth: number): GroupField['fields'] {
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => {
    const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    return { name, field: fieldAt(schema, at, name, needed.has(name), depth + 1) };
  });
}

function optionsOf({
  enum: values,
  const: only,
  oneOf,
  ...schema
}: Schema): ChoiceField['options'] | undefined {
  if (only !== undefined) return [optionOf(only)];
  if (Array.isArray(values) && values.length > 0) return values.map((value) => optionOf(value));
  if (!Array.isArray(oneOf) || oneOf.length === 0 || COMPOSED.some((word) => word in schema))
    return undefined;
  const constants = oneOf.filter((each) => isObject(each) && 'const' in each) as Schema[];
  if (constants.length < oneOf.length) return undefined;
  return constants.map(({ const: value, title }) => optionOf(value, textOf(title)));
}

function optionOf(value: unknown, title?: string): ChoiceField['options'][number] {
  return { label: title ?? (typeof value === 'string' ? value : JSON.stringify(value)), value };
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
