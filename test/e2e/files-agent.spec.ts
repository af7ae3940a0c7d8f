import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FilesHandler } from '../../packages/files/src/index.js';
import type {
  Envelope,
  FileEnvelope,
  LogEnvelope,
  Suggestion,
  SuggestionsEnvelope,
} from '../../src/index.js';
import { promise } from '../promises.js';
import { get, request } from '../support/client.js';
import { longStringPdf } from '../support/hostile-files.mjs';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { serve, type SharedService } from '../support/service.js';

const FIXTURES = resolve(import.meta.dirname, '../fixtures/files');
const OFFICE = 'application/vnd.openxmlformats-officedocument';

/** Files that other programs made, and what the service says about each. */
const FILES: [name: string, mimeType: string, said: string[]][] = [
  [
    'orders.csv',
    'text/csv',
    [
      '**CSV table**, 132 bytes. 3 rows of 5 columns, separated by commas; the first line names the columns.',
      '| `amount` | number | 0 | 3 | `7.25` | `99` | 39.5833 |',
    ],
  ],
  ['picture.png', 'image/png', ['**PNG image**, 1.48 kB. 320 × 200 pixels.']],
  ['report.pdf', 'application/pdf', ['1 page. Title: `Annual report`.', 'The year was good for the engine.']],
  [
    'report.docx',
    `${OFFICE}.wordprocessingml.document`,
    ['**Word document**', '19 words in 8 paragraphs. 1 table.', 'Grüße aus Köln & more.'],
  ],
  [
    'orders.xlsx',
    `${OFFICE}.spreadsheetml.sheet`,
    ['2 sheets.', 'Sheet `Orders`: 4 rows × 5 columns.', '| `2` | `Grace` | `2024-02-28` | `99` | FALSE |'],
  ],
  [
    'slides.pptx',
    `${OFFICE}.presentationml.presentation`,
    ['2 slides, 8 words.', '1. `The analytical engine`'],
  ],
  ['archive.zip', 'application/zip', ['2 files, 8.9 kB unpacked', '| `folder/numbers.txt` | 8.89 kB |']],
  ['encrypted.pdf', 'application/pdf', ['This PDF is encrypted: it opens with its password only.']],
  ['numbers.h', 'text/x-c', ['**C file**, 94 bytes. 4 lines, 17 words, 94 characters.']],
];

describe('The built-in agent of the service', () => {
  let service: SharedService;

  beforeAll(async () => {
    service = await serve();
  });

  afterAll(async () => {
    await service.stop();
  });

  it(promise('service.files-agent'), async () => {
    const parts = FILES.map(async ([name, mimeType]) => ({
      type: 'file',
      name,
      mimeType,
      base64: (await readFile(resolve(FIXTURES, name))).toString('base64'),
    }));
    const reply = await request(service.url, {}, JSON.stringify({ parts: await Promise.all(parts) }));
    const envelopes = await reply.allEnvelopes();
    const isReading = ({ type, data }: Envelope) =>
      type === 'log' && (data as { message: string }).message.startsWith('Reading');
    const starts = envelopes.flatMap((envelope, index) => (isReading(envelope) ? [index] : []));
    expect(starts).toHaveLength(FILES.length);
    FILES.forEach(([name, , said], index) => {
      expect((envelopes[starts[index]!] as LogEnvelope).data.message).toContain(`Reading ${name}`);
      const answer = envelopes.slice(starts[index], starts[index + 1]);
      const text = answer.map(({ type, data }) =>
        type === 'message' ? (data as { content: string }).content : '',
      );
      for (const sentence of said) expect(text.join('')).toContain(sentence);
    });
    expect(envelopes.at(-1)!.data).toEqual({ status: 'completed' });
  });

  it(promise('service.files-agent-hostile'), async () => {
    const [hostile, ordinary] = await Promise.all([
      request(service.url, {}, bodyOf('a.pdf', longStringPdf())),
      request(service.url, {}, bodyOf('b.txt', Buffer.from('text'))),
    ]);
    const answers = [await hostile.answer(), await ordinary.answer()];
    expect(answers).toEqual([
      {
        text: expect.stringContaining('no more than 256 MiB of memory are spent on one file.'),
        done: [{ status: 'completed' }],
      },
      { text: expect.stringContaining('4 characters'), done: [{ status: 'completed' }] },
    ]);
    expect((await get(service.url, '/health/ready')).status).toBe(200);
  });
});

describeOnOneAdapter('The built-in agent on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startAgent(adapter, FilesHandler);
  });
  afterAll(() => host.close());

  it(promise('service.files-agent-requests'), async () => {
    const ask = async (text: string, ...names: string[]) => {
      const files = names.map(async (name) => ({
        type: 'file',
        name,
        mimeType: 'application/octet-stream',
        base64: (await readFile(resolve(FIXTURES, name))).toString('base64'),
      }));
      const parts = [...(await Promise.all(files)), { type: 'text', text }];
      const reply = await request(
        host.url,
        {},
        JSON.stringify({ parts, kwargs: { session_id: 'requests' } }),
      );
      const answer = await reply.answer();
      expect(answer.done).toEqual([{ status: 'completed' }]);
      return answer.text;
    };
    const first = await ask('What is in these files?', 'orders.csv', 'report.pdf', 'archive.zip');
    expect(first).toContain('**CSV table**');
    expect(first).toContain(' The nearest one is `select * from orders limit 5`.');
    expect(await ask('select customer from orders where amount > 10 order by amount')).toBe(
      '| `customer` |\n| --- |\n| `Ada` |\n| `Grace` |\n\n(2 rows.)\n\n',
    );
    expect(await ask('select count(*) from orders_orders', 'orders.xlsx')).toContain('| 3 |');
    expect(await ask('find "engine"')).toContain('`report.pdf`, page 1: `The year was good for the engine.`');
    expect(await ask('entry a.txt')).toContain('Entry `a.txt`, 6 bytes:');
    expect(await ask('page 7')).toContain('There is no such page: it has only page 1.');
    expect(await ask('select nope from orders')).toContain(
      'LINE 1: select nope from orders\n               ^',
    );
  });

  it(promise('service.files-agent-people'), async () => {
    const ask = async ({ text, files = [] }: Suggestion) => {
      const parts = [...files.map((file) => ({ type: 'file', ...file })), { type: 'text', text }];
      const body = JSON.stringify({ parts, kwargs: { session_id: 'people' } });
      const envelopes = await (await request(host.url, {}, body)).allEnvelopes();
      expect(envelopes.at(-1)!.data).toEqual({ status: 'completed' });
      const said = envelopes
        .filter(({ type }) => type === 'message')
        .map(({ data }) => data as { content: string });
      const offers = envelopes.filter(({ type }) => type === 'suggestions') as SuggestionsEnvelope[];
      return {
        text: said.map(({ content }) => content).join(''),
        items: offers.flatMap(({ data }) => data.items),
      };
    };
    const hello = await ask({ text: 'Hello!' });
    expect(hello.text).toContain('This agent reads files');
    expect(hello.text).not.toContain('```');
    const sample = hello.items.find(({ text }) => text === 'describe')!;
    expect((await ask(sample)).text).toContain('10 rows of 7 columns');
    const asked = await ask({ text: 'How many orders are paid?' });
    expect(asked.text).toMatch(/^This agent does not read language, it answers requests\./);
    expect((await ask(asked.items[0]!)).text).toContain('| `yes` | 7 |\n| `no` | 3 |');
    expect((await ask({ text: 'delete from orders' })).text).toContain('Nothing is changed.');
  });

  it(promise('service.files-agent-exports'), async () => {
    const table = { type: 'file', name: 'a.csv', mimeType: 'text/csv', base64: 'YSxiCjEsMgo=' };
    const download = async (text: string) => {
      const body = JSON.stringify({ parts: [table, { type: 'text', text }] });
      const envelopes = await (await request(host.url, {}, body)).allEnvelopes();
      const { data } = envelopes.find(({ type }) => type === 'file') as FileEnvelope;
      return { ...data, content: await (await fetch(new URL(data.path, host.url))).text() };
    };
    expect(await download('a as csv')).toMatchObject({
      name: 'a.csv',
      mimeType: 'text/csv',
      content: 'a,b\n1,2\n',
    });
    const json = await download('select a + b as sum from a as json');
    expect(json).toMatchObject({ name: 'result.json', mimeType: 'application/json' });
    expect(JSON.parse(json.content)).toEqual([{ sum: 3 }]);
    const parquet = await download('a as parquet');
    expect(parquet.mimeType).toBe('application/vnd.apache.parquet');
    expect(parquet.content).toMatch(/^PAR1.*PAR1$/s);
  });

  it(promise('service.files-agent-cancel'), async () => {
    const endless =
      'select count(*) from range(1000000) a, range(1000000) b where (a.range * b.range) % 7 = 3';
    const table = { type: 'file', name: 'a.csv', mimeType: 'text/csv', base64: 'YSxiCjEsMgo=' };
    const body = JSON.stringify({ parts: [table, { type: 'text', text: endless }] });
    let least = Infinity;
    // The machine may have been busy with something else.
    for (let time = 0; time < 3 && least >= 500; time += 1) {
      const reply = await request(host.url, {}, body);
      await reply.until('Answering select');
      const begin = performance.now();
      await request(host.url, { method: 'DELETE', path: `/query/${reply.runId}` });
      expect((await reply.answer()).done).toEqual([{ status: 'cancelled' }]);
      least = Math.min(least, performance.now() - begin);
    }
    expect(least).toBeLessThan(500);
  });
});

function bodyOf(name: string, content: Buffer): string {
  const mimeType = 'application/octet-stream';
  return JSON.stringify({ parts: [{ type: 'file', name, mimeType, base64: content.toString('base64') }] });
}
