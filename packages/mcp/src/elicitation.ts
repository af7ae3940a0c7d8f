import type { ElicitRequestFormParams, ElicitRequestURLParams } from '@modelcontextprotocol/server';
import type { InputAnswer, InputRequest } from 'nest-agent-query';
import { isObject } from './json.js';
import { formOf } from './flat-schema.js';

type Form = ElicitRequestFormParams['requestedSchema'];

/** The field of a form that asks for one value. */
const FIELD = 'answer';

const APPROVAL: Form = {
  type: 'object',
  properties: {
    approved: { type: 'boolean', title: 'Approve' },
    reason: { type: 'string', title: 'Reason' },
  },
  required: ['approved'],
};

/** A question as clients put it to a person. */
export type Elicitation =
  (ElicitRequestFormParams & { mode: 'form' }) | (ElicitRequestURLParams & { mode: 'url' });

/** What a client says that a person has done. */
export interface Elicited {
  action: unknown;
  content?: unknown;
}

/**
 * A request of a run for a person. Undefined if clients cannot show it: the call of a tool is for a program, and a form has only
 * fields that are texts, numbers, choices and yes or no.
 */
export function elicitationOf(request: InputRequest): Elicitation | undefined {
  const { id, kind, message, url } = request;
  if (kind === 'auth') return { mode: 'url', message, url: url!, elicitationId: id };
  const requestedSchema = kind === 'approval' ? APPROVAL : kind === 'input' ? askedForm(request) : undefined;
  if (!requestedSchema) return undefined;
  return { mode: 'form', message: kind === 'approval' ? withCall(request) : message, requestedSchema };
}

/** What a person has done, as the answer to a request of a run. Whether its value is valid, is for the run to check. */
export function answerOf(request: InputRequest, { action, content }: Elicited): InputAnswer {
  const { id, kind } = request;
  if (action === 'accept') return { id, outcome: 'answered', value: valueOf(request, content) };
  // Who closes a form has not decided. Who declines to approve a call refuses it.
  if (action === 'decline' && kind === 'approval')
    return { id, outcome: 'answered', value: { approved: false } };
  return { id, outcome: 'declined' };
}

function valueOf({ kind, schema }: InputRequest, content: unknown): unknown {
  if (kind === 'auth') return {};
  const isWhole = kind === 'approval' || (isObject(schema) && isObject(schema['properties']));
  return isWhole ? content : isObject(content) ? content[FIELD] : undefined;
}

/** The form of an `input`: that of its schema, or one with a field. */
function askedForm({ schema = { type: 'string' } }: InputRequest): Form | undefined {
  const form = formOf(schema);
  if (form) return form;
  return formOf({ type: 'object', properties: { [FIELD]: schema }, required: [FIELD] });
}

function withCall({ message, name, arguments: given }: InputRequest): string {
  if (name === undefined) return message;
  return `${message}\n\n${name}(${given === undefined ? '' : JSON.stringify(given)})`;
}
