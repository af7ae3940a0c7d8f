import process from 'node:process';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { anyRuns, parsersOf } from '../../../test/support/child-processes.js';
import { deferred, eventually } from '../../../test/support/conditions.js';
import { contextOf } from '../../../test/support/handler-context.js';
import {
  attributesDocx,
  commentsText,
  crowdedZip,
  greedyPdf,
  longDocx,
  longStringPdf,
  pdfOf,
  xlsxOf,
} from '../../../test/support/hostile-files.mjs';
import type { Envelope, FilePart } from 'nest-agent-query';
import { FilesHandler, FilesLimits } from './index.js';

type Part = FilePart;

function partOf(name: string, content: Uint8Array | string): Part {
  const file = new File([content], name);
  return { type: 'file', name, mimeType: 'application/octet-stream', sha256: '', file };
}

/** A file that cannot be read to the end, as if its disk did not answer. */
function stuckPart(name = 'stuck.txt'): { part: Part; isReached: Promise<void> } {
  const part = partOf(name, 'text');
  const reached = deferred();
  part.file.arrayBuffer = () => {
    reached.resolve();
    return new Promise(() => {});
  };
  return { part, isReached: reached.promise };
}

/** The answer to one query while it arrives. */
class Asked {
  readonly logs: string[] = [];
  text = '';
  isEnded = false;
  readonly ended: Promise<void>;
  readonly #controller = new AbortController();

  constructor(handler: FilesHandler, parts: Part[], owner: string, runId: string) {
    const context = contextOf({ runId, owner, signal: this.#controller.signal });
    this.ended = this.#read(handler.handle({ parts, kwargs: {} }, context));
  }

  abort(): void {
    this.#controller.abort();
  }

  async #read(answer: AsyncIterable<Envelope>): Promise<void> {
    for await (const { type, data } of answer) {
      if (type === 'log') this.logs.push((data as { message: string }).message);
      else if (type === 'message') this.text += (data as { content: string }).content;
    }
    this.isEnded = true;
  }
}

describe('Hostile files', () => {
  const handlers: FilesHandler[] = [];
  let runs = 0;
  let warn: jest.SpiedFunction<Logger['warn']>;

  function handlerWith(values: Partial<FilesLimits> = {}): FilesHandler {
    const handler = new FilesHandler(Object.assign(new FilesLimits(), values));
    handlers.push(handler);
    return handler;
  }

  function ask(handler: FilesHandler, parts: Part[], owner = 'ada'): Asked {
    runs += 1;
    return new Asked(handler, parts, owner, `run-${runs}`);
  }

  async function answer(handler: FilesHandler, ...parts: Part[]): Promise<string> {
    const asked = ask(handler, parts);
    await asked.ended;
    return asked.text;
  }

  beforeEach(() => {
    warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await Promise.all(handlers.splice(0).map((handler) => handler.onApplicationShutdown()));
    expect(await parsersOf(process.pid)).toEqual([]);
  });

  describe('cost one sentence in one answer', () => {
    const TEXT = partOf('b.txt', 'text');
    const SAID = '### `b.txt`\n\n**Text file**, 4 bytes. 1 line, 1 word, 4 characters.';

    it('if V8 ends the process because of one long string in a PDF', async () => {
      const file = longStringPdf();
      expect(file.length).toBeLessThan(25_000);
      const text = await answer(handlerWith(), partOf('a.pdf', file), TEXT);
      expect(text).toContain('Reading stopped here: no more than 256 MiB of memory are spent on one file.');
      expect(text).toContain(SAID);
    });

    it('if one tag of a Word document has millions of attributes', async () => {
      const text = await answer(handlerWith(), partOf('a.docx', attributesDocx(300_000)), TEXT);
      expect(text).toContain(
        '### `a.docx`\n\nAn element of this document has more than 1000 attributes.\n\n',
      );
      expect(text).toContain(SAID);
    });

    it('if a PDF of a few kilobytes unpacks to more memory than the limit', async () => {
      const file = pdfOf(Buffer.alloc(100_000_000, ' '), 2);
      expect(file.length).toBeLessThan(10_000);
      const text = await answer(handlerWith({ memoryMiB: 64 }), partOf('a.pdf', file), TEXT);
      expect(text).toContain('no more than 64 MiB of memory are spent on one file.');
      expect(text).toContain(SAID);
    });

    it('if a JSON file has one text that exceeds the memory', async () => {
      const file = Buffer.concat([Buffer.from('["'), Buffer.alloc(100_000_000, 'äö€'), Buffer.from('"]')]);
      expect(await answer(handlerWith({ memoryMiB: 64 }), partOf('a.json', file), TEXT)).toBe(
        '### `a.json`\n\nDescribing this file takes more than 64 MiB of memory, which is more than is spent on one file.' +
          `\n\n${SAID} Encoding: UTF-8.\n\n\`\`\`text\ntext\n\`\`\`\n\n`,
      );
    });

    it('if the parsing of a PDF never ends', async () => {
      const text = await answer(
        handlerWith({ seconds: 0.5, memoryMiB: 2048 }),
        partOf('a.pdf', greedyPdf()),
        TEXT,
      );
      expect(text).toMatch(/no more than 0\.51 seconds are spent on it|takes more than 0\.51 seconds/);
      expect(text).toContain(SAID);
    });

    it('if something outside kills the process', async () => {
      const handler = handlerWith();
      const { part, isReached } = stuckPart();
      const asked = ask(handler, [part, TEXT]);
      await isReached;
      for (const pid of await parsersOf(process.pid)) process.kill(pid, 'SIGKILL');
      await asked.ended;
      expect(asked.text).toContain(
        '### `stuck.txt`\n\nThis file could not be described: it is broken, or of a kind that is not understood.',
      );
      expect(warn).toHaveBeenCalledWith(expect.stringContaining('ended with SIGKILL'));
      expect(await answer(handler, TEXT)).toContain(SAID);
    });
  });

  it('take no exponential time to tell that a text is no SVG image', async () => {
    expect(await answer(handlerWith({ seconds: 5 }), partOf('a.txt', commentsText()))).toContain(
      '1 line, 1 word',
    );
  });

  describe('leave what is known when a limit ends the reading', () => {
    it('of a workbook: its first rows, and how many there are at least', async () => {
      const text = await answer(handlerWith({ expandedMiB: 4 }), partOf('a.xlsx', await xlsxOf(20_000)));
      expect(text).toContain('1 sheet.\n\nSheet `Data`:\n\n| `1` | `1` |');
      expect(text).toMatch(/Sheet `Data` has at least 1\d,\d{3} rows × 10 columns\./);
      expect(text).toMatch(
        /Reading stopped in `xl\/worksheets\/sheet1\.xml`, after 4\.\d+ MB of 6\.\d+ MB: it unpacks to more than 4\.19 MB\./,
      );
    });

    it('of an archive: at least how many files it has, and after which entry reading stopped', async () => {
      const text = await answer(handlerWith({ entries: 50 }), partOf('a.zip', crowdedZip(60)));
      expect(text).toContain('**ZIP archive**, 5.52 kB. At least 50 files, 0 bytes unpacked.');
      expect(text).toContain('(At least 30 more files.)');
      expect(text).toContain('Reading stopped after 50 of 60 entries: no more are read of one archive.');
    });

    it('of a text: what was counted within the time', async () => {
      const part = partOf('a.txt', 'one two\n'.repeat(200_000));
      const slice = part.file.slice.bind(part.file);
      // The disk is so slow that the time is over after the first pieces.
      let slow = 0;
      part.file.slice = (start, end) => {
        const piece = slice(start, end);
        slow += 1;
        if (slow < 4) return piece;
        const arrayBuffer = piece.arrayBuffer.bind(piece);
        piece.arrayBuffer = () => new Promise((resolve) => setTimeout(() => resolve(arrayBuffer()), 700));
        return piece;
      };
      const text = await answer(handlerWith({ seconds: 0.5 }), part);
      expect(text).toMatch(/\*\*Text file\*\*, 1\.6 MB\. At least [\d,]+ lines/);
      expect(text).toMatch(
        /Reading stopped after \S+ (kB|MB) of 1\.6 MB: no more than 0\.69 seconds are spent on it\./,
      );
    });
  });

  it('state no number of pages that cannot be, and no compression that is none', async () => {
    const text = await answer(
      handlerWith(),
      partOf('a.pdf', pdfOf('', 1, -5)),
      partOf('b.zip', crowdedZip(3)),
    );
    expect(text).toContain('It does not state how many pages it has.');
    expect(text).not.toContain('-5');
    expect(text).toContain('3 files, 0 bytes unpacked.\n');
  });

  describe('delay others little', () => {
    it('of another owner, and of another run', async () => {
      const handler = handlerWith();
      const hostile = [1, 2].map(() => ask(handler, [stuckPart().part]));
      for (const owner of ['grace', 'ada']) {
        const asked = ask(handler, [partOf('a.csv', 'a,b\n1,2\n')], owner);
        await asked.ended;
        expect(asked.text).toContain('1 row of 2 columns');
      }
      expect(hostile.map(({ isEnded }) => isEnded)).toEqual([false, false]);
      hostile.forEach((asked) => asked.abort());
      await Promise.all(hostile.map(({ ended }) => ended));
    });

    it('and the stream says that a file waits', async () => {
      const handler = handlerWith({ processes: 1 });
      const { part, isReached } = stuckPart();
      const stuck = ask(handler, [part]);
      await isReached;
      const waiting = ask(handler, [partOf('a.txt', 'text')], 'grace');
      await eventually(() => waiting.logs.includes('a.txt waits until other files have been read'));
      expect(waiting.text).toBe('');
      stuck.abort();
      await waiting.ended;
      expect(waiting.text).toContain('4 characters');
    });

    it('when they gave way, and are still described', async () => {
      const handler = handlerWith({ processes: 2 });
      const long = [1, 2, 3].map(() => ask(handler, [partOf('a.docx', longDocx(100_000))]));
      const small = ask(handler, [partOf('a.txt', 'text')], 'grace');
      await small.ended;
      await Promise.all(long.map(({ ended }) => ended));
      for (const { text } of long) expect(text).toContain('200,000 words in 100,000 paragraphs.');
    });
  });

  it('stop when the run is cancelled, and their process is gone', async () => {
    const asked = ask(handlerWith(), [partOf('a.pdf', greedyPdf())]);
    let pids: number[] = [];
    await eventually(async () => (pids = await parsersOf(process.pid)).length > 0);
    asked.abort();
    await asked.ended;
    expect(asked.text).not.toContain('stopped');
    await eventually(async () => !(await anyRuns(pids)));
  });
});
