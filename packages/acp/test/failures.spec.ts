import { QueryError } from 'nest-agent-query';
import { IS_LONG } from '../../../test/support/long-form.js';
import { answerOf, dataOf, Scripted, textOf } from './scripted.js';

const SECRET = 'sk-secret-0123456789';
const error = (code: number, message: string, data?: unknown) => JSON.stringify({ code, message, data });

/** How the agents say that a model has failed, and what callers read. */
const FAILURES: [form: string, error: string, code: string][] = [
  ['a cut', error(500, 'terminated'), 'interrupted'],
  ['data that is a text', error(-32603, 'Internal error', `401 Unauthorized: ${SECRET}`), 'handler_failed'],
  ['a missing sign-in', error(-32000, 'Authentication required'), 'handler_failed'],
];

/** The forms that `translate/failures.spec.ts` has without a process. */
const FURTHER_FAILURES: typeof FAILURES = [
  ['a status as the code', error(401, `Incorrect API key ${SECRET}`), 'handler_failed'],
  ['a status in the message', error(-32603, '429 Too Many Requests'), 'rate_limited'],
  [
    'a message in the data',
    error(-32603, 'Internal error', { message: 'rate limit exceeded (429)' }),
    'rate_limited',
  ],
  [
    'details in the data',
    error(-32603, 'Internal error', { details: '503 Service Unavailable' }),
    'unavailable',
  ],
  ['nothing else', error(-32603, 'Internal error'), 'handler_failed'],
];
if (IS_LONG) FAILURES.push(...FURTHER_FAILURES);

/** Agents that cannot be used, and what the operator reads. */
const UNUSABLE: [is: string, says: RegExp][] = [
  ['dead=7', /code 7/],
  ['auth', /must be signed in by the operator/],
  ['new-fails', /no disk/],
  ['modes=auto,plan', /no mode "default". Its modes are: auto, plan/],
];

describe('A failure of an agent of ACP', () => {
  let scripted: Scripted;
  beforeEach(() => (scripted = new Scripted()));
  afterEach(() => scripted.end());

  it.each(FAILURES)('is told with its code, and without secrets: %s', async (_form, failure, code) => {
    const answer = await answerOf(scripted.handler(), ['say Hel', `fail ${failure}`]);
    expect(answer.error).toBeInstanceOf(QueryError);
    expect(answer.error).toMatchObject({ code });
    expect((answer.error as QueryError).detail).not.toContain(SECRET);
    expect(textOf(answer.envelopes)).toBe('Hel');
  });

  it.each(UNUSABLE)('ends the run, and leaves no process: %s', async (is, says) => {
    const answer = await answerOf(scripted.handler(is), ['say Hello']);
    expect(answer.error).toBeInstanceOf(QueryError);
    const { detail, cause } = answer.error as QueryError;
    expect(`${detail} ${String(cause)}`).toMatch(says);
    expect(answer.envelopes.filter(({ type }) => type !== 'log')).toEqual([]);
    expect(scripted.processes).toEqual([]);
  });

  it('in mid-answer closes what was begun', async () => {
    const answer = await answerOf(scripted.handler(), ['say Hel', 'open Thinking', 'die 4'], undefined, {
      resumed: { attempt: 2, state: undefined },
    });
    expect(answer.error).toBeInstanceOf(QueryError);
    expect(textOf(answer.envelopes)).toBe('Hel');
    expect(dataOf(answer.envelopes, 'tool_result')).toMatchObject([{ id: 'call-1-1', isError: true }]);
    expect((answer.error as QueryError).detail).not.toContain('fatal: the scripted agent ends here');
  });

  it('is a line that is too long', async () => {
    const handler = scripted.handler('', { lineLength: 10_000 });
    const answer = await answerOf(handler, ['say Hello', 'large 20000']);
    expect(answer.error).toMatchObject({ code: 'limit_exceeded' });
    expect(textOf(answer.envelopes)).toBe('Hello');
    expect(scripted.processes).toEqual([]);
  });

  it('is no request of its own: the agent reads that the method is unknown', async () => {
    const { envelopes } = await answerOf(scripted.handler(), [
      'own fs/read_text_file',
      'own _x/y',
      'own terminal/create',
    ]);
    expect(textOf(envelopes)).toBe('fs/read_text_file: -32601_x/y: -32601terminal/create: -32601');
  });
});
