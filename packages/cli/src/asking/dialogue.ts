import type { ApprovalValue, InputAnswer, InputKind, InputRequest, ToolValue } from 'nest-agent-query-client';
import { printableJson } from '../printable.js';
import type { Asked } from './person.js';
import { fieldsOf, jsonOf, type TypedValue, typedValueOf } from './typed-values.js';

/**
 * Asks a person for the answer to a request, which they have read.
 *
 * @throws {PersonLeft} they leave it open
 */
export async function answerOfPerson(request: InputRequest, person: Asked): Promise<InputAnswer> {
  const { id, kind } = request;
  const value = await VALUES[kind](request, person);
  return value === undefined ? { id, outcome: 'declined' } : { id, outcome: 'answered', value };
}

/** The value that a person gives; undefined if they decline to answer. */
const VALUES: Record<InputKind, (request: InputRequest, person: Asked) => Promise<unknown>> = {
  approval,
  input,
  tool,
  auth,
};

async function approval(
  { arguments: given = {}, editable }: InputRequest,
  person: Asked,
): Promise<ApprovalValue | undefined> {
  for (;;) {
    await person.say(`y: approve, n: refuse, ${editable ? 'e: edit the arguments, ' : ''}d: give no answer`);
    const choice = (await person.line('Approve')).trim().toLowerCase();
    if (choice === 'y') return { approved: true };
    if (choice === 'd') return undefined;
    if (choice === 'n') {
      const reason = (await person.line('Why (may be empty)')).trim();
      return { approved: false, ...(reason !== '' && { reason }) };
    }
    const edited = choice === 'e' && editable ? await typed(OBJECT, 'Approve', person, given) : undefined;
    if (edited !== undefined) return { approved: true, arguments: edited as Record<string, unknown> };
  }
}

async function input({ schema }: InputRequest, person: Asked): Promise<unknown> {
  await person.say('An empty line gives no answer.');
  const fields = fieldsOf(schema);
  if (!fields) return typed(typedValueOf(schema), 'Answer', person);
  const form: Record<string, unknown> = {};
  for (const field of fields) {
    const label = field.isRequired ? field.label : `${field.label} (may be empty)`;
    const value = await typed(field, label, person);
    if (value === undefined && field.isRequired) return undefined;
    if (value !== undefined) form[field.name] = value;
  }
  return Object.keys(form).length > 0 ? form : undefined;
}

async function tool(_: InputRequest, person: Asked): Promise<ToolValue | undefined> {
  await person.say('An empty line gives no answer.');
  const content = await typed({ hint: 'JSON', valueOf: jsonOf }, 'Result as JSON', person);
  return content === undefined ? undefined : { content };
}

async function auth(_: InputRequest, person: Asked): Promise<object | undefined> {
  const line = await person.line('Enter when you have signed in, d to give no answer');
  return line.trim().toLowerCase() === 'd' ? undefined : {};
}

const OBJECT: TypedValue = {
  hint: 'a JSON object',
  valueOf: (line) => {
    const value = jsonOf(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  },
};

/** @param before what the line has at first @returns undefined if the line is empty */
async function typed(
  { hint, valueOf }: TypedValue,
  label: string,
  person: Asked,
  before?: unknown,
): Promise<unknown> {
  let line = before === undefined ? '' : printableJson(before);
  for (;;) {
    if (hint !== '') await person.say(`It must be ${hint}.`);
    line = await person.line(label, line);
    if (line.trim() === '') return undefined;
    const value = valueOf(line);
    if (value !== undefined) return value;
  }
}
