import type { InputRequest } from 'nest-agent-query-client';
import { printableJson, printableLine } from '../printable.js';

/** How a person types a value in a line. */
export interface TypedValue {
  /** What may be typed: the rest of "It must be …". Empty if any text may. */
  hint: string;
  /** @returns undefined if the line is no such value */
  valueOf(this: void, line: string): unknown;
}

/** A value of a form. */
export interface Field extends TypedValue {
  name: string;
  /** What a person reads in place of the name. */
  label: string;
  isRequired: boolean;
}

type Schema = NonNullable<InputRequest['schema']>;

const SIMPLE: Record<string, TypedValue> = {
  string: { hint: '', valueOf: (line) => line },
  boolean: { hint: 'y or n', valueOf: truthOf },
  number: { hint: 'a number', valueOf: numberOf },
  integer: {
    hint: 'a whole number',
    valueOf: (line) => (Number.isInteger(numberOf(line)) ? numberOf(line) : undefined),
  },
};

/** How a value of a schema is typed. Without a schema it is a text. */
export function typedValueOf(schema: Schema = { type: 'string' }): TypedValue {
  return simpleValueOf(schema) ?? { hint: `JSON that matches ${printableJson(schema)}`, valueOf: jsonOf };
}

/** The fields of an object that has simple values only; undefined for any other schema. */
export function fieldsOf(schema: Schema | undefined): Field[] | undefined {
  if (typeof schema !== 'object' || schema['type'] !== 'object') return undefined;
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, Schema>;
    required?: string[];
  };
  const fields = Object.entries(properties).flatMap(([name, each]): Field[] => {
    const value = simpleValueOf(each);
    const title = typeof each === 'object' ? (each['title'] ?? each['description']) : undefined;
    const label = typeof title === 'string' ? printableLine(title) : name;
    return value ? [{ ...value, name, label, isRequired: required.includes(name) }] : [];
  });
  return fields.length > 0 && fields.length === Object.keys(properties).length ? fields : undefined;
}

/** @returns undefined if the line is no JSON */
export function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

function simpleValueOf(schema: Schema): TypedValue | undefined {
  if (typeof schema !== 'object') return undefined;
  const { enum: choices, type } = schema;
  if (Array.isArray(choices)) return choiceOf(choices);
  return typeof type === 'string' && Object.hasOwn(SIMPLE, type) ? SIMPLE[type] : undefined;
}

function choiceOf(choices: unknown[]): TypedValue {
  const textOf = (choice: unknown) => (typeof choice === 'string' ? choice : JSON.stringify(choice));
  return {
    hint: `one of: ${choices.map((choice) => printableLine(textOf(choice))).join(', ')}`,
    valueOf: (line) => choices.find((choice) => printableLine(textOf(choice)) === line.trim()),
  };
}

function numberOf(line: string): number | undefined {
  const value = line.trim() === '' ? NaN : Number(line);
  return Number.isFinite(value) ? value : undefined;
}

function truthOf(line: string): boolean | undefined {
  if (/^\s*(?:y|yes|true)\s*$/i.test(line)) return true;
  return /^\s*(?:n|no|false)\s*$/i.test(line) ? false : undefined;
}
