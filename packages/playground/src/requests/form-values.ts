import type { FieldError } from 'nest-agent-query-client';
import type { Field, NumberField, TextField } from './schema-fields.js';

/** What the user has written, by the pointers of the fields. A flag is a boolean, and a choice the index of its option. */
export type Draft = Record<string, string | boolean>;

/** What a form or a field says. `value` is undefined where it is left empty. */
export interface Read {
  value: unknown;
  faults: FieldError[];
}

/** The draft that a form begins with: what its schema proposes. */
export function draftOf(field: Field): Draft {
  if (field.kind === 'group')
    return Object.assign({}, ...field.fields.map((each) => draftOf(each.field))) as Draft;
  return { [field.pointer]: proposedIn(field) };
}

/** Reads a form: the value, and what is wrong with it as far as the fields can tell. */
export function readForm(field: Field, draft: Draft): Read {
  if (field.kind !== 'group') return readField(field, draft[field.pointer] ?? '');
  if (!field.isRequired && isEmpty(field, draft)) return { value: undefined, faults: [] };
  const members = field.fields.map(({ name, field: member }) => ({ name, ...readForm(member, draft) }));
  const filled = members.filter(({ value }) => value !== undefined);
  return {
    // Not one after the other: `__proto__` is a name as any other.
    value: Object.fromEntries(filled.map(({ name, value }) => [name, value])),
    faults: members.flatMap(({ faults }) => faults),
  };
}

/**
 * Reads JSON that the user has written.
 *
 * @param isObject whether it has to be an object
 */
export function readJson(text: string, pointer: string, isObject = false): Read {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject || (typeof value === 'object' && value !== null && !Array.isArray(value)))
      return { value, faults: [] };
    return wrong(pointer, 'must be a JSON object, such as {"a": 1}');
  } catch (error) {
    return wrong(pointer, `must be JSON, such as "a text" or {"a": 1}: ${(error as Error).message}`);
  }
}

/** @returns the faults of each field of a form, as sentences. A fault belongs to the field that is nearest to its place */
export function faultsByField(form: Field, faults: readonly FieldError[]): Record<string, string[]> {
  const pointers = pointersOf(form);
  const placed: Record<string, string[]> = {};
  for (const { pointer, detail } of faults) {
    const at =
      pointers.findLast((each) => pointer === each || pointer.startsWith(`${each}/`)) ?? form.pointer;
    const rest = pointer.slice(at.length);
    (placed[at] ??= []).push(`${rest === '' ? 'This' : rest} ${detail}.`);
  }
  return placed;
}

/** Of groups before those of their members. */
function pointersOf(field: Field): string[] {
  const inside = field.kind === 'group' ? field.fields.flatMap((each) => pointersOf(each.field)) : [];
  return [field.pointer, ...inside];
}

function proposedIn(field: Exclude<Field, { kind: 'group' }>): string | boolean {
  const { kind, proposed } = field;
  if (kind === 'flag') return proposed === true;
  if (kind === 'choice') {
    const index = field.options.findIndex(({ value }) => JSON.stringify(value) === JSON.stringify(proposed));
    return index < 0 ? '' : `${index}`;
  }
  if (proposed === undefined) return '';
  return kind === 'json' || typeof proposed !== 'string' ? JSON.stringify(proposed, undefined, 2) : proposed;
}

function readField(field: Exclude<Field, { kind: 'group' }>, draft: string | boolean): Read {
  const { pointer, isRequired } = field;
  if (typeof draft === 'boolean') return { value: draft, faults: [] };
  const isLeftOut = field.kind === 'text' ? draft === '' : draft.trim() === '';
  if (isLeftOut) return isRequired ? wrong(pointer, 'is needed') : { value: undefined, faults: [] };
  switch (field.kind) {
    case 'text':
      return { value: draft, faults: faultsOf(pointer, lengthFault(field, draft)) };
    case 'number':
      return readNumber(field, draft);
    case 'choice':
      return { value: field.options[Number(draft)]!.value, faults: [] };
    default:
      return readJson(draft, pointer);
  }
}

function lengthFault({ minLength = 0, maxLength = Infinity }: TextField, text: string): string | undefined {
  const { length } = [...text];
  if (length < minLength) return `must have at least ${minLength} characters`;
  return length > maxLength ? `must have at most ${maxLength} characters` : undefined;
}

function readNumber({ pointer, isInteger, minimum, maximum }: NumberField, text: string): Read {
  const value = Number(text);
  if (!Number.isFinite(value)) return wrong(pointer, 'must be a number, such as 12.5');
  if (isInteger && !Number.isInteger(value)) return wrong(pointer, 'must be a whole number');
  if (minimum !== undefined && value < minimum) return wrong(pointer, `must be at least ${minimum}`);
  if (maximum !== undefined && value > maximum) return wrong(pointer, `must be at most ${maximum}`);
  return { value, faults: [] };
}

/** Flags have no empty state: they count where they are set. */
function isEmpty(field: Field, draft: Draft): boolean {
  if (field.kind === 'group') return field.fields.every((each) => isEmpty(each.field, draft));
  const written = draft[field.pointer] ?? '';
  return typeof written === 'boolean' ? !written : written.trim() === '';
}

function wrong(pointer: string, detail: string): Read {
  return { value: undefined, faults: [{ pointer, detail }] };
}

function faultsOf(pointer: string, detail: string | undefined): FieldError[] {
  return detail === undefined ? [] : [{ pointer, detail }];
}
