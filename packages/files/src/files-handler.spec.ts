import { openAsBlob } from 'node:fs';
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { Envelope, FilePart, QueryPart, SuggestionsEnvelope } from 'nest-agent-query';
import { zipOf } from '../../../test/support/hostile-files.mjs';
import { eventually } from '../../../test/support/conditions.js';
import { contextOf } from '../../../test/support/handler-context.js';
import { FilesHandler, FilesLimits } from './index.js';

const FIXTURES = new URL('../../../test/fixtures/files/', import.meta.url);

const fixture = (name: string) => readFile(new URL(name, FIXTURES));

function filePart(
  name: string,
  content: string | Buffer | Blob,
  mimeType = 'application/octet-stream',
): QueryPart {
  return { type: 'file', name, mimeType, sha256: '', file: new File([content], name) };
}

function limits(values: Partial<FilesLimits>): FilesLimits {
  return Object.assign(new FilesLimits(), values);
}

async function ask(handler: FilesHandler, parts: QueryPart[], signal?: AbortSignal) {
  const envelopes: Envelope[] = [];
  const context = contextOf(signal && { signal });
  for await (const envelope of handler.handle({ parts, kwargs: {} }, context)) envelopes.push(envelope);
  return envelopes;
}

/** The contents of the messages, joined. */
function textOf(envelopes: Envelope[]): string {
  return envelopes
    .map(({ type, data }) => (type === 'message' ? (data as { content: string }).content : ''))
    .join('');
}

describe('FilesHandler', () => {
  const handlers: FilesHandler[] = [];
  let usual: FilesHandler;

  function handlerWith(values: Partial<FilesLimits> = {}): FilesHandler {
    const handler = new FilesHandler(limits(values));
    handlers.push(handler);
    return handler;
  }

  // One process, which loads each library once.
  beforeAll(() => {
    usual = handlerWith({ processes: 1 });
  });

  afterAll(() => Promise.all(handlers.map((handler) => handler.onApplicationShutdown())));

  /** The handler's answer about one file. */
  async function describeOne(
    name: string,
    content: string | Buffer | Blob,
    mimeType?: string,
    handler = usual,
  ) {
    const [first, ...others] = await ask(handler, [filePart(name, content, mimeType)]);
    expect(first!.type).toBe('log');
    expect(others.length).toBeGreaterThan(0);
    return textOf(others);
  }

  describe('on files made by other programs', () => {
    it.each([
      [
        'cities.csv',
        '**CSV table**, 132 bytes. 3 rows of 4 columns, separated by commas; the first line names the columns.',
      ],
      ['cities.csv', '| `population` | integer | 1 | 2 | `126329` | `1073096` | 599712.5 |'],
      ['cities.csv', '| `founded` | date | 0 | 3 | `0050-01-01` | `1237-10-28` |  |'],
      ['orders-semicolon.csv', 'separated by semicolons'],
      ['orders-utf16.tsv', '**TSV table**, 266 bytes. 3 rows of 5 columns, separated by tabs'],
      ['orders-utf16.tsv', '| `amount` | number | 0 | 3 | `7.25` | `99` | 39.5833 |'],
      [
        'engine.json',
        '  parts: array (3 items) of object\n    id: integer\n    weight: number\n    tags: array (2 items) of string\n  note: null',
      ],
      [
        'events.ndjson',
        '4 values, one after another; together they have this shape:\n\n```text\nobject\n  id: integer\n  level: string\n  code?: integer\n```',
      ],
      ['picture.png', '**PNG image**, 1.48 kB. 320 × 200 pixels.\n'],
      ['picture.jpg', '**JPEG image**, 523 bytes. 64 × 40 pixels.\n'],
      ['picture.gif', '**GIF image**, 723 bytes. 64 × 40 pixels.\n'],
      ['picture.webp', '**WebP image**, 148 bytes. 64 × 40 pixels.\n'],
      ['picture.bmp', '**BMP image**, 2.06 kB. 32 × 20 pixels.\n'],
      ['picture.tiff', '**TIFF image**, 632 bytes. 64 × 40 pixels. 3 bands of 16 bits.\n'],
      ['picture.avif', '**AVIF image**, 412 bytes. 320 × 200 pixels.\n'],
      ['picture.heic', '**HEIC image**, 539 bytes. 320 × 200 pixels.\n'],
      ['picture.svg', '**SVG image**, 64.7 kB. 794 × 1123 pixels.\n'],
      [
        'report.pdf',
        '1 page. Title: `Annual report`. Author: `Ada Lovelace`.\n\nOutline:\n\n- `Annual report`\n  - `Figures`\n\nIts text begins:\n\n```text\nAnnual report\nThe year was good for the engine.',
      ],
      ['report.docx', 'Title: `Annual report`. 19 words in 8 paragraphs. 1 table.'],
      ['report.docx', 'Headings:\n\n- `Annual report`\n  - `Figures`'],
      ['report.doc', 'Word document of 97 to 2003 (DOC)'],
      [
        'orders.xlsx',
        '2 sheets.\n\nSheet `Orders`: 4 rows × 5 columns.\n\n| `order` | `customer` | `date` | `amount` | `paid` |',
      ],
      ['orders.xlsx', '| `3` | `Linus` | `2024-02-29` | `7.25` | TRUE |'],
      ['slides.pptx', '2 slides, 8 words.\n\n1. `The analytical engine`\n2. `Next steps`'],
      ['archive.zip', '2 files, 8.9 kB unpacked (compressed 1.9 to 1).'],
      ['archive.zip', '| `folder/numbers.txt` | 8.89 kB |'],
      ['archive.tar', '**tar archive**, 20.5 kB. 2 files, 8.9 kB unpacked.'],
      [
        'archive.tar.gz',
        '2 files, 8.9 kB unpacked (compressed 1.98 to 1).\n\n| entry | size |\n| --- | --- |\n| `a.txt` | 6 bytes |',
      ],
      ['numbers.txt.gz', '8.89 kB unpacked (compressed 2.1 to 1). Inside: text, UTF-8.'],
      [
        'archive.7z',
        'Type: `application/x-7z-compressed`. It is not unpacked here: send what is in it, or pack that with gzip or ZIP.\n\nSHA-256: `c054fcc578e67986e60c787a889dd296b770e46bfcb13b180209f52d0dc829ad`',
      ],
      [
        'numbers.h',
        '**C file**, 94 bytes. 4 lines, 17 words, 94 characters. Encoding: UTF-8.\n\n```c\nunsigned char a_txt[]',
      ],
      ['utf16.txt', '2 lines, 4 words, 19 characters. Encoding: UTF-16, little-endian.'],
      ['latin.txt', 'not UTF-8, read as Windows-1252. That a text is windows-1252 is a guess: '],
      ['encrypted.pdf', '### `encrypted.pdf`\n\nThis PDF is encrypted: it opens with its password only.'],
      ['encrypted.docx', 'This document is encrypted: it opens with its password only.'],
      ['encrypted.zip', 'It is encrypted: the names are readable, the contents only with the password.'],
    ])('describes %s with: %s', async (name, sentence) => {
      expect(await describeOne(name, await fixture(name))).toContain(sentence);
    });
  });

  describe('on files that are broken or not what they are declared to be', () => {
    it.each([
      ['report.pdf', 3000, 'This PDF is broken or cut off: its structure cannot be read.'],
      ['archive.zip', 500, 'This ZIP archive is broken or cut off'],
      ['report.docx', 2000, 'This ZIP archive is broken or cut off'],
      ['archive.tar.gz', 1000, 'This gzip file is cut off: its end is missing.'],
      ['numbers.txt.gz', 1000, 'This gzip file is cut off: its end is missing.'],
      ['archive.tar', 700, 'This tar archive is broken or cut off. Before that it holds: At least 1 file'],
      ['picture.png', 400, '320 × 200 pixels. The file seems cut off: its end is missing.'],
      ['picture.jpg', 30, 'This JPEG image is broken: its width and height cannot be read.'],
      ['engine.json', 100, 'This JSON is broken: it ends in the middle, as if it had been cut off.'],
      ['cities.csv', 70, 'This table is broken: a quote that opens in line 3 is never closed.'],
      ['picture.png', 0, 'An empty file (0 bytes).'],
    ])('says what is wrong with %s cut after %i bytes', async (name, length, sentence) => {
      expect(await describeOne(name, (await fixture(name)).subarray(0, length))).toContain(sentence);
    });

    it('describes a file by its bytes if its declared type and name are wrong, and says so', async () => {
      const part = filePart('notes.txt', await fixture('picture.png'), 'text/plain');
      const content = textOf(await ask(usual, [{ ...part, detectedMimeType: 'image/png' } as FilePart]));
      expect(content).toContain('**PNG image**');
      expect(content).toContain('The file was declared as `text/plain`, but its bytes are `image/png`.');
    });

    it('describes bytes with zeros as binary even if they are declared as text', async () => {
      const content = await describeOne('notes.txt', Buffer.from('text\0\x01\x02 and more'), 'text/plain');
      expect(content).toContain('**Binary file**, 16 bytes. This kind of file is not read here.');
    });

    it('states the line and byte at which JSON is broken', async () => {
      const content = await describeOne('a.json', '{"a": 1,\n "b": [1, 2,, 3]}', 'application/json');
      expect(content).toContain('This JSON is broken: , that does not belong there at line 2, byte 13.');
    });

    it('shows a hostile name and hostile contents as they are, and makes them harmless', async () => {
      const csv = 'a|b`c,<script>\n1,"x\n| y | z\u202e"\n';
      const content = await describeOne('``|<img src=x>\n# big.csv', csv, 'text/csv');
      expect(content.split('\n')[0]).toBe('### ``` ``|<img src=x> # big.csv ```');
      expect(content).toContain(
        '| ``a\\|b`c`` | integer | 0 | 1 | `1` | `1` | 1 |  |\n| `<script>` | text |',
      );
    });

    it('keeps its answers small for files with many columns, keys or lines', async () => {
      const wide = Array.from({ length: 5000 }, (_, index) => `column ${index} ${'x'.repeat(500)}`).join(',');
      const deep = JSON.stringify(Object.fromEntries(wide.split(',').map((key) => [key, { [key]: [key] }])));
      for (const [name, text] of [
        ['a.csv', `${wide}\n${wide}`],
        ['a.json', deep],
        ['a.txt', wide],
      ] as const) {
        expect((await describeOne(name, text)).length).toBeLessThan(10_000);
      }
    });

    it('describes the other parts too', async () => {
      const envelopes = await ask(usual, [
        filePart('broken.pdf', '%PDF-1.7 nothing'),
        { type: 'text', text: 'Hello' },
        filePart('a.json', '[1]', 'application/json'),
      ]);
      const logs = envelopes.flatMap(({ type, data }) =>
        type === 'log' ? [(data as { message: string }).message] : [],
      );
      expect(logs.filter((text) => text.startsWith('Reading'))).toEqual([
        'Reading broken.pdf, 16 bytes (part 1 of 3)',
        'Reading a.json, 3 bytes (part 3 of 3)',
      ]);
      expect(textOf(envelopes)).toContain(
        '### `broken.pdf`\n\nThis PDF is broken or cut off: its structure cannot be read.\n\n' +
          '### `a.json`\n\n**JSON file**, 3 bytes. Its shape:\n\n```text\narray (1 item) of integer\n```\n\n',
      );
    });
  });

  it.each(['Hello!', 'What can you do?', ' '])(
    'says what it can do in five lines when it is told %j without a file, and offers a sample',
    async (text) => {
      const [introduction, offer, ...more] = await ask(usual, [{ type: 'text', text }]);
      expect(more).toEqual([]);
      const lines = textOf([introduction!]).trim().split('\n');
      expect(lines).toHaveLength(5);
      expect(lines[4]).toContain('It does not read language. A model answers questions');
      expect(lines[4]).toContain('`MODEL_BASE_URL=http://127.0.0.1:11434/v1 MODEL=llama3.2 npm start`');
      const { items } = (offer as SuggestionsEnvelope).data;
      expect(items.map((each) => each.files!.map(({ name }) => name))).toEqual([
        ['orders.csv'],
        ['orders.csv'],
      ]);
      for (const { text: request, files } of items) {
        const parts = files!.map(({ name, base64 }) => filePart(name, Buffer.from(base64, 'base64')));
        const answer = textOf(await ask(usual, [...parts, { type: 'text', text: request }]));
        expect(answer).toMatch(/10 rows of 7 columns|\| `Espoo` \| 5 \|/);
      }
    },
  );

  it('describes a long text, and shows its beginning', async () => {
    const answer = textOf(await ask(usual, [{ type: 'text', text: 'one two\n'.repeat(200) }]));
    expect(answer).toContain('**Text**: 200 lines, 400 words, 1,600 characters.\n\n```text\none two');
    expect(answer).not.toContain('does not read language');
  });

  it('offers requests for files that come without a text', async () => {
    const envelopes = await ask(usual, [filePart('a.csv', 'city,sum\nParis,1\n')]);
    expect(textOf(envelopes)).not.toContain('does not read language');
    expect(envelopes.at(-1)).toEqual({
      type: 'suggestions',
      data: {
        items: [
          { text: 'select * from a limit 5', label: 'First rows of a' },
          { text: 'summarize a', label: 'Figures of each column' },
        ],
      },
    });
  });

  it('gives way to other work between the parts of a query', async () => {
    for (const text of [`x${' '.repeat(19_990)}x`, `select${' '.repeat(1_000)}`]) {
      const parts: QueryPart[] = Array.from({ length: 100 }, () => ({ type: 'text', text }));
      let rounds = 0;
      const count = () => {
        rounds += 1;
        other = setImmediate(count);
      };
      let other = setImmediate(count);
      await ask(usual, parts);
      clearImmediate(other);
      // Once to look for requests, and once to describe them.
      expect(rounds).toBeGreaterThanOrEqual(2 * parts.length - 1);
    }
  });

  describe('with files on disk', () => {
    let folder: string;
    beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'files-agent-'))));
    afterEach(() => rm(folder, { recursive: true }));

    it('reads them from disk', async () => {
      const path = join(folder, 'a');
      await writeFile(path, 'one\ntwo\n'.repeat(200_000));
      const content = await describeOne('a.txt', await openAsBlob(path), 'text/plain');
      expect(content).toContain('400,000 lines, 400,000 words, 1,600,000 characters.');
    });

    it('says so if the content is no longer available', async () => {
      const path = join(folder, 'a');
      await writeFile(path, 'one\ntwo\n');
      const blob = await openAsBlob(path);
      await truncate(path, 2);
      expect(await describeOne('a.txt', blob)).toContain('Its content is not available any more.');
    });
  });

  describe('within limits', () => {
    let narrow: FilesHandler;
    beforeAll(() => void (narrow = handlerWith({ expandedMiB: 1, processes: 1 })));

    it('stops unpacking a bomb at the limit of unpacked bytes', async () => {
      const file = gzipSync(Buffer.alloc(30_000_000));
      expect(file.length).toBeLessThan(100_000);
      expect(await describeOne('a.gz', file, 'application/gzip', narrow)).toContain(
        '**gzip file**, 29.2 kB. More than 1.05 MB unpacked (compressed 35.9 to 1).\n\n' +
          'Reading stopped here: it unpacks to more than 1.05 MB.',
      );
    });

    it('warns of a ZIP bomb without unpacking it', async () => {
      const file = zipOf([['zeros', Buffer.alloc(20_000_000)]]);
      expect(file.length).toBeLessThan(30_000);
      const content = await describeOne('a.zip', file, 'application/zip', narrow);
      expect(content).toContain('1 file, 20 MB unpacked (compressed 1,020 to 1).');
      expect(content).toContain('**Unpacked, it is far larger than the archive: unpack it with care.**');
    });

    it('stops unpacking a bomb that is an office document', async () => {
      const file = zipOf([
        ['word/document.xml', Buffer.concat([Buffer.from('<a>'), Buffer.alloc(20_000_000, ' ')])],
      ]);
      expect(await describeOne('a.docx', file, undefined, narrow)).toContain(
        'Reading stopped in `word/document.xml`, after 1.05 MB of 20 MB: it unpacks to more than 1.05 MB.',
      );
    });

    it('refuses a document that unpacks to more than it states', async () => {
      const file = zipOf([['word/document.xml', Buffer.alloc(20_000_000, ' ')]], 100);
      expect(await describeOne('a.docx', file)).toContain('This ZIP archive is broken or cut off');
    });

    it('reads an office document up to the limit of unpacked bytes', async () => {
      const handler = handlerWith({ expandedMiB: 0.001 });
      expect(await describeOne('report.docx', await fixture('report.docx'), undefined, handler)).toContain(
        'it unpacks to more than 1.05 kB.',
      );
    });
  });

  it('shows the progress of a file that takes long, in bytes', async () => {
    const content = 'city,sum\n' + 'Paris,12\n'.repeat(200_000);
    const file = new File([content], 'slow.csv');
    let hasProgress = false;
    // The second half is slow: it comes when the first half is shown as read.
    const slice = (start: number, end: number) => ({
      arrayBuffer: async () => {
        if (start > content.length / 2) await eventually(() => hasProgress);
        return file.slice(start, end).arrayBuffer();
      },
    });
    const slow = { name: file.name, size: file.size, slice } as unknown as File;
    const part: FilePart = { type: 'file', name: 'slow.csv', mimeType: 'text/csv', sha256: '', file: slow };
    const envelopes: Envelope[] = [];
    for await (const envelope of usual.handle({ parts: [part], kwargs: {} }, contextOf())) {
      envelopes.push(envelope);
      hasProgress ||= envelope.type === 'progress';
    }
    const shown = envelopes.filter(({ type }) => type === 'progress').map(({ data }) => data);
    expect(shown[0]).toMatchObject({ total: content.length, unit: 'bytes', label: 'Reading slow.csv' });
    expect((shown[0] as { done: number }).done).toBeGreaterThan(content.length / 4);
    expect(textOf(envelopes)).toContain('200,000 rows');
  });

  it('takes its limits from the host, such as that of the entries of an archive', async () => {
    const module = await Test.createTestingModule({
      providers: [FilesHandler, { provide: FilesLimits, useValue: limits({ entries: 1 }) }],
    }).compile();
    const content = await describeOne(
      'a.tar',
      await fixture('archive.tar'),
      undefined,
      module.get(FilesHandler),
    );
    expect(content).toContain('At least 1 file');
    await module.close();
  });

  it('writes nothing to the log of the service because of broken files', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn');
    await describeOne('a.pdf', '%PDF-1.7 nothing');
    await describeOne('a.zip', 'PK\x03\x04 nothing\0');
    expect(warn).not.toHaveBeenCalled();
  });

  // The last one with this handler: it ends the process.
  it('ends within a file, without a further message, when the signal is aborted', async () => {
    const controller = new AbortController();
    const read: string[] = [];
    const file = new File([Buffer.alloc(5_000_000)], 'a.bin');
    const slice = file.slice.bind(file);
    file.slice = (start, end) => {
      read.push(`${start}`);
      if (read.length === 3) controller.abort();
      return slice(start, end);
    };
    const parts: QueryPart[] = [
      { type: 'file', name: 'a.bin', mimeType: 'application/octet-stream', sha256: '', file },
      { type: 'text', text: 'never' },
    ];
    const envelopes = await ask(usual, parts, controller.signal);
    expect(envelopes[0]).toEqual({ type: 'log', data: { message: 'Reading a.bin, 5 MB (part 1 of 2)' } });
    expect(envelopes.filter(({ type }) => type === 'message')).toEqual([]);
    expect(read.length).toBeLessThan(20);
  });

  it('does not wait for its turn after the signal is aborted', async () => {
    const handler = handlerWith({ processes: 1 });
    const controller = new AbortController();
    const first = new AbortController();
    const stuck = new File(['text'], 'a.txt');
    let reached = () => {};
    const reading = new Promise<void>((resolve) => (reached = resolve));
    stuck.arrayBuffer = () => {
      reached();
      return new Promise<ArrayBuffer>(() => {});
    };
    const part: QueryPart = { type: 'file', name: 'a.txt', mimeType: 'text/plain', sha256: '', file: stuck };
    const holding = ask(handler, [part], first.signal);
    await reading;
    const waiting = ask(handler, [filePart('b.txt', 'text')], controller.signal);
    controller.abort();
    expect((await waiting).filter(({ type }) => type === 'message')).toEqual([]);
    first.abort();
    expect((await holding).filter(({ type }) => type === 'message')).toEqual([]);
    expect(await describeOne('c.txt', 'text', 'text/plain', handler)).toContain('4 characters');
  });
});
