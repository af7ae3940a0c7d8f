import { Buffer } from 'node:buffer';
import type { FieldError, InputAnswer, InputKind, InputRequest } from 'nest-agent-query-client';
import { isInRange, type Range, rangeText, shown } from '../../options/table.js';
import { type Question, QUESTION_MEMBERS } from '../../ports/agent-handler.js';
import type { NewRequest } from '../../ports/input-store.js';
import type { SchemaCheck } from '../schema-checks.js';
import { refuseUnknown } from '../../contract/unknown-members.js';

const KINDS = ['approval', 'input', 'tool', 'auth'];

/** How many questions one pause has at most. */
const QUESTIONS = 64;

/** The most bytes of JSON that one request has. */
const REQUEST_BYTES = 256 * 1024;

/** The most bytes of JSON that the answer to a question has, and the most values: more than a person types. */
const ANSWER_BYTES = 256 * 1024;
const ANSWER_VALUES = 10_000;

const DAY_MS = 24 * 3_600_000;
const EXPIRES_IN_MS: Range = [1, 30 * DAY_MS];

/** A key is the id of a request, and is kept and logged as it is. */
const KEY = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

/**
 * The requests that a handler asks, checked.
 *
 * @param longestMs no request expires later
 * @param check checks the schemas
 * @throws {TypeError} a question is not valid · {RangeError} there are too many, or one is too long
 */
export async function requestsOf(
  questions: Question[],
  longestMs: number,
  check: SchemaCheck,
): Promise<NewRequest[]> {
  if (!Array.isArray(questions) || questions.length === 0)
    throw new TypeError('context.ask needs an array of at least one question.');
  if (questions.length > QUESTIONS)
    throw new RangeError(
      `context.ask takes at most ${QUESTIONS} questions at once, not ${questions.length}.`,
    );
  const requests: NewRequest[] = [];
  for (const question of questions) {
    const request = await requestOf(question, longestMs, check);
    if (requests.some(({ id }) => id === request.id))
      throw new TypeError(`Two questions have the key ${JSON.stringify(request.id)}.`);
    requests.push(request);
  }
  return requests;
}

async function requestOf(question: Question, longestMs: number, check: SchemaCheck): Promise<NewRequest> {
  const { key, kind, message, toolCallId, name, arguments: args, schema, url } = question;
  const { expiresInMs = DAY_MS, onExpire = 'decline' } = question;
  refuseUnknown(`The question ${shown(key)} cannot be asked`, question, QUESTION_MEMBERS);
  const fault = (what: string) => new TypeError(`The question ${shown(key)} cannot be asked: ${what}.`);
  if (typeof key !== 'string' || !KEY.test(key))
    throw fault('its key must have 1 to 200 characters, and no control characters');
  if (!KINDS.includes(kind)) throw fault(`its kind must be one of ${KINDS.join(', ')}`);
  if (typeof message !== 'string') throw fault('its message must be a string');
  if (!isInRange(expiresInMs, EXPIRES_IN_MS))
    throw fault(`its expiresInMs must be ${rangeText(EXPIRES_IN_MS)}`);
  const isDefault = typeof onExpire === 'object' && onExpire !== null && 'value' in onExpire;
  if (!isDefault && onExpire !== 'decline' && onExpire !== 'fail')
    throw fault('its onExpire must be "decline", "fail" or { value }');
  if (kind === 'auth' && !isUrl(url)) throw fault('an auth needs a url');
  if (kind === 'tool' && typeof name !== 'string') throw fault('a tool needs a name');
  const request: NewRequest = {
    id: key,
    kind,
    message,
    ...(toolCallId !== undefined && { toolCallId }),
    ...(name !== undefined && { name }),
    ...(args !== undefined && { arguments: args }),
    ...(question.editable && kind === 'approval' && { editable: true }),
    ...(schema !== undefined && kind === 'input' && { schema }),
    ...(url !== undefined && kind === 'auth' && { url }),
    ...(question.private && { private: true }),
    ...(question.hold && { hold: true }),
    expiresInMs: Math.min(expiresInMs, longestMs),
    onExpire,
  };
  const text = JSON.stringify(request);
  const bytes = Buffer.byteLength(text);
  if (bytes > REQUEST_BYTES)
    throw new RangeError(
      `The question ${shown(key)} has ${bytes} bytes of JSON, more than the ${REQUEST_BYTES} allowed.`,
    );
  if (request.schema !== undefined) {
    const { invalid } = await check(request.schema);
    if (invalid !== undefined) throw fault(`its schema is not valid: ${invalid}`);
  }
  if (isDefault) {
    const [wrong] = await faultsOfValue(request, onExpire.value, '/onExpire/value', check);
    if (wrong) throw fault(`${wrong.pointer} ${wrong.detail}`);
  }
  // A copy: what is asked stays as it is, whatever the handler does with its objects.
  return JSON.parse(text) as NewRequest;
}

/**
 * What is wrong with an answer to a request.
 *
 * @param pointer of the answer, in the body of the caller
 * @param check checks a value against the schema of the request
 */
export async function faultsOfAnswer(
  request: InputRequest,
  { outcome, value }: InputAnswer,
  pointer: string,
  check: SchemaCheck,
): Promise<FieldError[]> {
  if (outcome === 'answered') return faultsOfValue(request, value, `${pointer}/value`, check);
  return value === undefined
    ? []
    : [{ pointer: `${pointer}/value`, detail: 'must be absent for "declined"' }];
}

async function faultsOfValue(
  { kind, schema, editable }: Pick<InputRequest, 'kind' | 'schema' | 'editable'>,
  value: unknown,
  pointer: string,
  check: SchemaCheck,
): Promise<FieldError[]> {
  if (value === undefined) return [{ pointer, detail: 'must be present' }];
  if (kind === 'input') {
    const tooMuch = excessOf(value);
    if (tooMuch !== undefined) return [{ pointer, detail: tooMuch }];
    if (schema === undefined)
      return typeof value === 'string' ? [] : [{ pointer, detail: 'must be a string' }];
    const { faults } = await check(schema, value);
    return faults.map((fault) => ({ ...fault, pointer: pointer + fault.pointer }));
  }
  const given = membersOf(value);
  if (!given) return [{ pointer, detail: 'must be an object' }];
  const faults = Object.entries(MEMBERS[kind]).flatMap(([name, [isValid, must]]) =>
    isValid(given[name]) ? [] : [{ pointer: `${pointer}/${name}`, detail: must }],
  );
  if (kind === 'approval' && given['arguments'] !== undefined && !editable)
    faults.push({ pointer: `${pointer}/arguments`, detail: 'must be absent: the request is not "editable"' });
  return faults;
}

/** What the values of kinds have, and what each member must be. */
const MEMBERS: Record<InputKind, Record<string, [isValid: (value: unknown) => boolean, must: string]>> = {
  input: {},
  approval: {
    approved: [(value) => typeof value === 'boolean', 'must be true or false'],
    arguments: [(value) => value === undefined || membersOf(value) !== undefined, 'must be an object'],
    reason: [(value) => value === undefined || typeof value === 'string', 'must be a string'],
  },
  tool: {
    content: [(value) => value !== undefined, 'must be present'],
    isError: [(value) => value === undefined || typeof value === 'boolean', 'must be true or false'],
  },
  auth: {},
};

/** Which limit of an answer a value exceeds; undefined if none. */
function excessOf(value: unknown): string | undefined {
  if (Buffer.byteLength(JSON.stringify(value)) > ANSWER_BYTES)
    return `must have at most ${ANSWER_BYTES} bytes of JSON`;
  return valuesIn(value) > ANSWER_VALUES ? `must have at most ${ANSWER_VALUES} values` : undefined;
}

function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((count, each) => count + valuesIn(each), 1);
}

function membersOf(value: unknown): Record<string, unknown> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

function isUrl(url: unknown): boolean {
  return typeof url === 'string' && /^https?:/.test(url) && URL.canParse(url);
}
