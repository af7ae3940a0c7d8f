import type { InputRequest } from 'nest-agent-query-client';
import { answerOfPerson } from './dialogue.js';
import { type Asked, PersonLeft } from './person.js';

/** Asks a person who types these lines. @returns the answer, and what was said and asked */
async function asked(request: Partial<InputRequest>, ...typed: string[]) {
  const shown: string[] = [];
  const person: Asked = {
    say: (text) => Promise.resolve(void shown.push(text)),
    line: (label, before) => {
      shown.push(before ? `${label}> ${before}` : `${label}>`);
      const line = typed.shift();
      return line === undefined ? Promise.reject(new PersonLeft(false)) : Promise.resolve(line);
    },
  };
  const { id, ...answer } = await answerOfPerson(
    { id: 'a', kind: 'input', ...request } as InputRequest,
    person,
  );
  expect([id, typed]).toEqual(['a', []]);
  return { answer, shown };
}

const DECLINED = { outcome: 'declined' };
const answered = (value: unknown) => ({ outcome: 'answered', value });
const CALL = { kind: 'approval', arguments: { amount: 1 } } as const;
const EDITABLE = { ...CALL, editable: true } as const;

describe('The dialogue with a person', () => {
  it.each<[Partial<InputRequest>, string[], unknown]>([
    [CALL, ['y'], answered({ approved: true })],
    [CALL, [' Y '], answered({ approved: true })],
    [CALL, ['n', ''], answered({ approved: false })],
    [CALL, ['n', ' too much '], answered({ approved: false, reason: 'too much' })],
    [CALL, ['d'], DECLINED],
    // Nothing is approved by a mistake.
    [CALL, ['', 'yes, do it', 'e', 'd'], DECLINED],
    [EDITABLE, ['e', '{"amount":2}'], answered({ approved: true, arguments: { amount: 2 } })],
    [EDITABLE, ['e', '[2]', '{', '', 'd'], DECLINED],
  ])('about the approval %j, with the lines %j, leads to %j', async (request, lines, expected) => {
    expect((await asked(request, ...lines)).answer).toEqual(expected);
  });

  it.each<[InputRequest['schema'], string[], unknown]>([
    [undefined, [' a b '], answered(' a b ')],
    [undefined, [''], DECLINED],
    [{ type: 'string' }, ['1'], answered('1')],
    [{ type: 'number' }, ['x', '1.5'], answered(1.5)],
    [{ type: 'integer' }, ['1.5', '-2'], answered(-2)],
    [{ type: 'boolean' }, ['maybe', 'No'], answered(false)],
    [{ type: 'string', enum: ['Q1', 'Q2'] }, ['q1', 'Q2 '], answered('Q2')],
    [{ enum: [1, null] }, ['2', 'null'], answered(null)],
    [{ type: 'array' }, ['[1', '[1]'], answered([1])],
    [true, ['{"a":1}'], answered({ a: 1 })],
    [{ type: ['string', 'null'] }, ['null'], answered(null)],
  ])('about an input of the schema %j, with the lines %j, leads to %j', async (schema, lines, expected) => {
    expect((await asked({ ...(schema !== undefined && { schema }) }, ...lines)).answer).toEqual(expected);
  });

  const FORM = {
    type: 'object',
    properties: {
      name: { type: 'string', title: 'Your name' },
      age: { type: 'integer' },
      ok: { type: 'boolean' },
    },
    required: ['name', 'ok'],
  };
  it.each<[string[], unknown]>([
    [['Ada', '', 'y'], answered({ name: 'Ada', ok: true })],
    [['Ada', '36', 'n'], answered({ name: 'Ada', age: 36, ok: false })],
    [['Ada', '', ''], DECLINED],
  ])('about a form, with the lines %j, leads to %j', async (lines, expected) => {
    const { answer, shown } = await asked({ schema: FORM }, ...lines);
    expect(answer).toEqual(expected);
    expect(shown).toEqual([
      'An empty line gives no answer.',
      'Your name>',
      'It must be a whole number.',
      'age (may be empty)>',
      'It must be y or n.',
      'ok>',
    ]);
  });

  it.each<[Partial<InputRequest>, string[], unknown]>([
    [{ kind: 'tool' }, ['no JSON', '{"rows":3}'], answered({ content: { rows: 3 } })],
    [{ kind: 'tool' }, [''], DECLINED],
    [{ kind: 'auth' }, [''], answered({})],
    [{ kind: 'auth' }, ['d'], DECLINED],
  ])('about %j, with the lines %j, leads to %j', async (request, lines, expected) => {
    expect((await asked(request, ...lines)).answer).toEqual(expected);
  });

  it('says what can be typed, and lets a mistake be corrected', async () => {
    const { shown } = await asked({ schema: { enum: ['Q\u001b1', 'Q2'] } }, 'Q3', 'Q2');
    expect(shown).toEqual([
      'An empty line gives no answer.',
      'It must be one of: Q␛1, Q2.',
      'Answer>',
      'It must be one of: Q␛1, Q2.',
      'Answer> Q3',
    ]);
    expect((await asked(EDITABLE, 'e', '{"amount"', '{}')).shown).toEqual([
      'y: approve, n: refuse, e: edit the arguments, d: give no answer',
      'Approve>',
      'It must be a JSON object.',
      'Approve> {"amount":1}',
      'It must be a JSON object.',
      'Approve> {"amount"',
    ]);
  });

  it('ends where the person leaves', async () => {
    await expect(asked(CALL)).rejects.toBeInstanceOf(PersonLeft);
  });
});
