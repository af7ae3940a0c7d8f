import type { ElicitRequestFormParams, PrimitiveSchemaDefinition } from '@modelcontextprotocol/server';
import { isObject } from './json.js';

type Form = ElicitRequestFormParams['requestedSchema'];
type Schema = Record<string, unknown>;

/** What a field may say about itself, by its type. Other keywords are checked with the answer only. */
const KEYWORDS: Record<string, string[]> = {
  string: ['title', 'description', 'minLength', 'maxLength', 'default'],
  number: ['title', 'description', 'minimum', 'maximum', 'default'],
  integer: ['title', 'description', 'minimum', 'maximum', 'default'],
  boolean: ['title', 'description', 'default'],
  array: ['title', 'description', 'minItems', 'maxItems', 'default'],
};

const FORMATS = ['email', 'uri', 'date', 'date-time'];

/** A JSON Schema as a form. Undefined if it is not an object whose members are all fields. */
export function formOf(schema: unknown): Form | undefined {
  if (!isObject(schema) || schema['type'] !== 'object' || !isObject(schema['properties'])) return undefined;
  const fields = Object.entries(schema['properties']).map(([name, each]) => [name, fieldOf(each)] as const);
  if (fields.some(([, field]) => field === undefined)) return undefined;
  const { required } = schema;
  return {
    type: 'object',
    properties: Object.fromEntries(fields) as Form['properties'],
    ...(isListOfTexts(required) && { required }),
  };
}

function fieldOf(schema: unknown): PrimitiveSchemaDefinition | undefined {
  if (!isObject(schema)) return undefined;
  const choices = choicesOf(schema, 'oneOf');
  const type = schema['type'] ?? (choices && 'string');
  if (typeof type !== 'string' || !Object.hasOwn(KEYWORDS, type)) return undefined;
  const field: Schema = { type };
  for (const keyword of KEYWORDS[type]!) if (schema[keyword] !== undefined) field[keyword] = schema[keyword];
  const isChoice = schema['enum'] !== undefined || schema['oneOf'] !== undefined || type === 'array';
  if (!isChoice) return withFormat(field, schema) as PrimitiveSchemaDefinition;
  const found = type === 'array' ? itemsOf(schema) : type === 'string' ? choices : undefined;
  return found && ({ ...field, ...found } as PrimitiveSchemaDefinition);
}

function withFormat(field: Schema, { type, format }: Schema): Schema {
  return type === 'string' && FORMATS.includes(format as string) ? { ...field, format } : field;
}

/** The choices of a field: texts, or values with titles. */
function choicesOf(schema: Schema, titled: 'oneOf' | 'anyOf'): Schema | undefined {
  const { enum: values, enumNames } = schema;
  if (isListOfTexts(values)) return { enum: values, ...(isListOfTexts(enumNames) && { enumNames }) };
  const options = schema[titled];
  const isTitled = (option: unknown) => isObject(option) && typeof option['const'] === 'string';
  if (!Array.isArray(options) || options.length === 0 || !options.every(isTitled)) return undefined;
  const shown = options.map(({ const: value, title = value }: Schema) => ({ const: value, title }));
  return { [titled]: shown };
}

function itemsOf({ items }: Schema): Schema | undefined {
  if (!isObject(items)) return undefined;
  const choices = choicesOf(items, 'anyOf');
  return choices && { items: choices['enum'] ? { type: 'string', enum: choices['enum'] } : choices };
}

function isListOfTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
