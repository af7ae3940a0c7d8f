import {
  type Envelope,
  file,
  type HandlerFunction,
  message,
  type Query,
  QueryError,
  reasoning,
  result,
  source,
  suggestions,
  toolCall,
  toolResult,
  usage,
} from '../../src/index.js';
import { eventually } from '../support/conditions.js';
import { tableRows } from '../support/documents.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { call, type Json, startMcp } from './mcp-host.js';

/** The second cells of a table of the document, by the first ones. */
function tableOf(head: string): [row: string, cell: string][] {
  const rows = tableRows('docs/mcp.md').filter(({ heading }) => heading[0] === head);
  return rows.map(({ cells }) => [cells[0]!.replaceAll('`', ''), cells[1]!]);
}

const fileOf = (mimeType: string, size: number) => file({ name: 'a', mimeType, content: Buffer.alloc(size) });

/** What the handler emits, and what a row says of it, by the beginning of the row. */
const ENVELOPES: Record<string, [emitted: Envelope[], words: string[]][]> = {
  message: [[[message('Hello')], ['text']]],
  file: [
    [[fileOf('image/png', 1)], ['image']],
    [[fileOf('audio/wav', 1)], ['audio']],
    [[fileOf('text/csv', 2 ** 20)], ['resource']],
    [[fileOf('image/png', 2 ** 20 + 1)], ['resource_link']],
  ],
  source: [[[source('https://example.com/')], ['resource_link']]],
  result: [
    [[result({ a: 1 })], ['structuredContent', 'text']],
    [
      [message('Hello'), result({ a: 1 })],
      ['text', 'structuredContent'],
    ],
  ],
  reasoning: [[[reasoning('Hm')], []]],
  'tool_call, tool_result': [[[toolCall('c1', 'add', {}), toolResult('c1', 1)], []]],
  usage: [[[usage({ inputTokens: 1, outputTokens: 2 })], []]],
  suggestions: [[[suggestions([{ text: 'More' }])], []]],
  'any other': [[[{ type: 'weather', data: {} }], []]],
};

const CASES = Object.values(ENVELOPES).flat();
const REFUSALS = tableOf('Refusal').map(([code]) => code);

const textOf = ({ parts }: Query) => (parts[0]?.type === 'text' ? parts[0].text : '');

const handler: HandlerFunction = async function* (query, { signal }) {
  const text = textOf(query);
  if (text === 'failed') throw new QueryError('handler_failed', 'The model is gone.');
  if (text === 'cancelled') await new Promise((resolve) => signal.addEventListener('abort', resolve));
  for (const envelope of CASES[Number(text)]?.[0] ?? []) yield envelope;
};

/** A query whose text is the name of a code is refused with it. */
const admit = (query: Query) => {
  const text = textOf(query);
  if (REFUSALS.includes(text)) throw new QueryError(text, 'Not now.', { retryAfter: 7 });
};

const wordsOf = ({ content, structuredContent }: Json) =>
  [
    ...(content as { type: string }[]).map(({ type }) => type),
    ...(structuredContent ? ['structuredContent'] : []),
  ].sort();

describeOnOneAdapter('The tables of MCP, on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startMcp(adapter, handler, { admit });
  });
  afterAll(() => host.close());

  it('have every envelope and every end', () => {
    expect(tableOf('Envelope').map(([row]) => row)).toEqual(Object.keys(ENVELOPES));
    expect(tableOf('End').map(([row]) => row)).toEqual(['completed', 'failed', 'cancelled']);
  });

  it.each(tableOf('Envelope'))('%s is in the result as: %s', async (row, cell) => {
    for (const each of ENVELOPES[row]!) {
      const [, words] = each;
      const answer = await call(host.url, { text: String(CASES.indexOf(each)) });
      expect(wordsOf(answer)).toEqual([...words].sort());
      for (const word of words) expect(cell).toContain(`\`${word}\``);
    }
  });

  it.each(tableOf('End'))('a run that is %s ends with: %s', async (row, cell) => {
    const answer = call(host.url, { text: row });
    if (row === 'cancelled') {
      const newest = async () => (await host.agent.runs('anonymous', { limit: 1 })).runs[0]!;
      await eventually(async () => (await newest()).status === 'running');
      await host.agent.cancel('anonymous', (await newest()).id);
    }
    const { isError = false, content } = await answer;
    expect([isError, (content as object[]).length > 0]).toEqual(Array(2).fill(cell.startsWith('`isError`')));
  });

  it.each(tableOf('Refusal'))('%s is refused with: %s', async (code, cell) => {
    expect(cell).toBe(`\`isError\` \`${code}\``);
    expect(await call(host.url, { text: code })).toEqual({
      resultType: 'complete',
      isError: true,
      content: [{ type: 'text', text: 'Not now.\nTry again in 7 s.' }],
      _meta: expect.objectContaining({ code, retryAfter: 7 }),
    });
  });
});
