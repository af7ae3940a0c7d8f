import fc from 'fast-check';
import { log, message, progress, reasoning, source, toolCall, toolResult, usage } from './envelopes.js';
import { envelopeText } from './envelope-text.js';
import { withMessageTexts, withoutMessageTexts } from './turn-texts.js';
import type { Envelope, TurnAnswer } from 'nest-agent-query-client';
import { KeptAnswer } from './kept-answer.js';

const MIB = 1024 * 1024;

function keep(envelopes: Envelope[], before?: TurnAnswer): TurnAnswer {
  const answer = new KeptAnswer(before);
  for (const envelope of envelopes) answer.add(envelope, envelopeText(envelope, Infinity));
  return answer.value;
}

const bytesOf = ({ envelopes }: TurnAnswer) => Buffer.byteLength(JSON.stringify(envelopes));

describe('An answer that a turn keeps', () => {
  it('is empty before its first envelope', () => {
    expect(keep([])).toEqual({ text: '', envelopes: [] });
  });

  it('has the envelopes of standard types, except those that say how the run proceeds', () => {
    const kept = [
      toolCall('1', 'look'),
      toolResult('1', { at: 1 }),
      source('https://a.example'),
      usage({ inputTokens: 1, outputTokens: 2 }),
    ];
    expect(keep([log('-'), ...kept, progress(1), { type: 'chart', data: 1 }])).toEqual({
      text: '',
      envelopes: kept,
    });
  });

  it('joins neighbours with one id, also where another type was between them that is not kept', () => {
    expect(keep([message('a'), log('-'), message('b'), { type: 'x', data: 0 }, message('c')])).toEqual({
      text: 'abc',
      envelopes: [message('abc')],
    });
    const ids = [
      message('a', { id: '1' }),
      message('b', { id: '1' }),
      message('c', { id: '2' }),
      message('d'),
    ];
    expect(keep(ids)).toEqual({
      text: 'abcd',
      envelopes: [message('ab', { id: '1' }), message('c', { id: '2' }), message('d')],
    });
    expect(keep([reasoning('a'), reasoning('b'), message('c'), reasoning('d')])).toEqual({
      text: 'c',
      envelopes: [reasoning('ab'), message('c'), reasoning('d')],
    });
  });

  it('does not join a message that has other members, which would be lost', () => {
    const strange = { type: 'message', data: { content: 'b', lang: 'en' } };
    expect(keep([message('a'), strange, message('c'), message('d')])).toEqual({
      text: 'abcd',
      envelopes: [message('a'), strange, message('cd')],
    });
  });

  it('has what toJSON makes of data', () => {
    const data = { toJSON: () => ({ content: 'a', id: '1' }), content: 'never' };
    expect(keep([{ type: 'message', data }])).toEqual({ text: 'a', envelopes: [message('a', { id: '1' })] });
  });

  it('has at most 1 MiB of envelopes, and goes on with the text', () => {
    const half = toolResult('1', 'ä'.repeat(MIB / 4));
    const answer = keep([half, message('a'), half, message('b')]);
    expect(answer).toEqual({ text: 'ab', envelopes: [half, message('a')], envelopesTruncated: true });
  });

  it('has envelopes of 1 MiB, and no byte more', () => {
    const frame = bytesOf({ text: '', envelopes: [toolResult('1', '')] });
    const fitting = toolResult('1', 'x'.repeat(MIB - frame));
    expect(keep([fitting])).toEqual({ text: '', envelopes: [fitting] });
    expect(keep([toolResult('1', 'x'.repeat(MIB - frame + 1))])).toEqual({
      text: '',
      envelopes: [],
      envelopesTruncated: true,
    });
    const chunks = [message('x'.repeat(MIB - 1024)), ...Array.from({ length: 1024 }, () => message('x'))];
    const joined = keep(chunks);
    expect(joined.text.length).toBe(MIB);
    expect([joined.envelopesTruncated, bytesOf(joined)]).toEqual([true, MIB]);
  });

  it('has no more than 1 MiB of text, and is full then', () => {
    const answer = new KeptAnswer();
    const chunk = message('x'.repeat(MIB - 1));
    for (let i = 0; i < 2; i++) answer.add(chunk, JSON.stringify(chunk));
    expect(answer.value.text.length).toBe(MIB);
    expect(answer.isFull).toBe(true);
  });

  const texts = fc.oneof(
    fc.string({ maxLength: 4 }),
    fc.constantFrom('\ud83d', '\ude00', '\u0000', 'ä', '"'),
  );
  const ids = fc.constantFrom(undefined, '1', '2');
  const envelopes = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.tuple(texts, ids).map(([text, id]) => message(text, { id })) },
      fc.tuple(texts, ids).map(([text, id]) => reasoning(text, { id })),
      texts.map((content): Envelope => ({ type: 'message', data: { content, more: 1 } })),
      fc.tuple(ids, fc.jsonValue()).map(([id = '0', value]) => toolResult(id, value)),
      texts.map(log),
      fc.constant<Envelope>({ type: 'chart', data: [] }),
    ),
    { maxLength: 30 },
  );
  /** The texts and the other envelopes in their order, with all texts of neighbours joined. */
  const flat = (all: Envelope[]) => {
    const pieces: [string, unknown][] = [];
    for (const { type, data } of all) {
      if (type !== 'message' && type !== 'reasoning') {
        pieces.push([type, data]);
        continue;
      }
      const { content, ...rest } = data as { content: string };
      const key = JSON.stringify([type, rest]);
      const newest = pieces.at(-1);
      if (newest?.[0] === key) newest[1] = `${newest[1] as string}${content}`;
      else pieces.push([key, content]);
    }
    return pieces;
  };
  const json = <T>(value: T) => JSON.parse(JSON.stringify(value)) as T;

  it('keeps the text and the order of whatever is emitted, and is the same after a store and a new attempt', () => {
    fc.assert(
      fc.property(envelopes, fc.nat(30), (emitted, at) => {
        const answer = keep(emitted);
        const kept = emitted.filter(({ type }) => !['log', 'chart'].includes(type));
        const contents = (all: Envelope[]) =>
          all
            .map(({ type, data }) => (type === 'message' ? (data as { content: string }).content : ''))
            .join('');
        expect(answer.text).toBe(contents(kept));
        expect(contents(answer.envelopes)).toBe(answer.text);
        expect(flat(answer.envelopes)).toEqual(flat(json(kept)));
        const isChunk = ({ type, data }: Envelope) =>
          (type === 'message' || type === 'reasoning') && !('more' in (data as object));
        for (const [index, envelope] of answer.envelopes.entries()) {
          const next = answer.envelopes[index + 1];
          if (!next || !isChunk(envelope) || !isChunk(next)) continue;
          const idOf = ({ type, data }: Envelope) => [type, (data as { id?: string }).id];
          expect(idOf(next)).not.toEqual(idOf(envelope));
        }

        const stored = json(withoutMessageTexts(answer) ?? null) ?? undefined;
        expect(withMessageTexts(stored, answer.text)).toEqual(answer.envelopes);
        expect(keep(emitted.slice(at), json(keep(emitted.slice(0, at))))).toEqual(answer);
      }),
    );
  });
});
