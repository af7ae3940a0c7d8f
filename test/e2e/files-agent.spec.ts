import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { LogEnvelope, MessageEnvelope } from '../../src/index.js';
import { promise } from '../promises.js';
import { request } from '../support/client.js';
import { type Service, startService } from '../support/service.js';

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
  let service: Service;

  beforeAll(async () => {
    service = await startService();
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
    expect(envelopes.map(({ type }) => type)).toEqual([...FILES.flatMap(() => ['log', 'message']), 'done']);
    FILES.forEach(([name, , said], index) => {
      const [log, message] = envelopes.slice(2 * index) as [LogEnvelope, MessageEnvelope];
      expect(log.data.message).toContain(`Reading ${name}`);
      for (const sentence of said) expect(message.data.content).toContain(sentence);
    });
    expect(envelopes.at(-1)!.data).toEqual({ status: 'completed' });
  });
});
