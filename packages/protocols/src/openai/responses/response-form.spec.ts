import * as fc from 'fast-check';
import type { Envelope, RunView } from 'nest-agent-query';
import { joinedPieces, type LogSlice } from 'nest-agent-query/protocol';
import { ResponseForm } from './response-form.js';

const RUN: RunView = {
  id: '00000000-0000-4000-8000-000000000000',
  status: 'running',
  session: null,
  createdAt: '2026-01-01T00:00:00.000Z',
  startedAt: null,
  endedAt: null,
  events: 0,
};
const ID = { runId: RUN.id, leg: 1, isBackground: false, isStored: true };

async function responseOf(envelopes: Envelope[], isStructured = false, from = Infinity) {
  const form = new ResponseForm({ ...ID, isStructured }, RUN, 'agent', from);
  const lines = [...envelopes, { type: 'done', data: { status: 'completed' } }].map((each) =>
    JSON.stringify(each),
  );
  const sliceAfter = (after: number): LogSlice => {
    const rest = lines.slice(after);
    return { first: after + 1, count: rest.length, lines: rest.join('\n'), endOffset: 0, ended: true };
  };
  form.log = sliceAfter;
  const beginning = form.beginning();
  const { text, rest = [] } = form.framesOf(sliceAfter(0));
  const response = await written(form.response().pieces);
  return {
    output: (JSON.parse(response) as { output: { type: string; content?: { text: string }[] }[] }).output,
    text: beginning + text + (await written(rest)),
  };
}

async function written(pieces: Parameters<typeof joinedPieces>[0]): Promise<string> {
  const texts: string[] = [];
  for await (const text of joinedPieces(pieces)) texts.push(text);
  return texts.join('');
}

const content = fc.string({
  unit: fc.constantFrom('a', '"', '\\', '\n', 'é', '\ud83d', '\ude00'),
  minLength: 1,
});
const envelope = fc.oneof(
  { weight: 6, arbitrary: content.map((text): Envelope => ({ type: 'message', data: { content: text } })) },
  content.map((text): Envelope => ({ type: 'reasoning', data: { content: text, id: 'r' } })),
  fc
    .constantFrom('c', 'd')
    .map((id): Envelope => ({ type: 'tool_call', data: { id, name: id, arguments: {} } })),
  fc.constantFrom('c', 'd').map((id): Envelope => ({ type: 'tool_result', data: { id, content: 1 } })),
  fc.constant<Envelope>({ type: 'source', data: { url: 'u' } }),
  fc.constant<Envelope>({ type: 'log', data: { message: 'l' } }),
);

/** What a client shows: neighbouring texts as one. */
function shown(output: Awaited<ReturnType<typeof responseOf>>['output']) {
  return {
    text: output.flatMap(({ content: parts = [] }) => parts.map(({ text }) => text)).join(''),
    calls: output.filter(({ type }) => type === 'mcp_call').length,
  };
}

describe('A response', () => {
  it('has after a restart what is valid, whatever came before', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(envelope),
        fc.array(envelope),
        fc.nat(),
        fc.boolean(),
        async (before, after, at, isStructured) => {
          const from = at % (before.length + 1);
          const restarted: Envelope = { type: 'restarted', data: { attempt: 2, from } };
          const valid = await responseOf([...before.slice(0, from), ...after], isStructured);
          const all = await responseOf([...before, restarted, ...after], isStructured);
          expect(shown(all.output)).toEqual(shown(valid.output));
        },
      ),
    );
  });

  it('is told as its snapshot when it restarts', async () => {
    const say = (text: string): Envelope => ({ type: 'message', data: { content: text } });
    const { text } = await responseOf(
      [say('a'), say('b'), { type: 'restarted', data: { attempt: 2, from: 1 } }, say('c')],
      false,
      0,
    );
    const events = text
      .split('\n\n')
      .filter(
        (event) =>
          event.startsWith('event: response.in_progress') || event.startsWith('event: response.completed'),
      )
      .map(
        (event) =>
          JSON.parse(event.slice(event.indexOf('data: ') + 6)) as { response: Parameters<typeof Object>[0] },
      )
      .map(({ response }) => shown((response as { output: [] }).output).text);
    expect(events).toEqual(['', 'a', 'ac']);
  });

  it('has numbers without gaps, whatever its log has', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(envelope), async (envelopes) => {
        const { text } = await responseOf(envelopes, false, 0);
        const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)];
        expect(numbers.map(([, number]) => Number(number))).toEqual([...numbers.keys()]);
      }),
    );
  });
});
