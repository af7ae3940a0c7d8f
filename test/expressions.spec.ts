import process from 'node:process';
import fc from 'fast-check';
import { fileName } from '../packages/adapters/src/names.js';
import { textKindOf } from '../packages/files/src/formats/text-kind.js';
import { block } from '../packages/files/src/markdown.js';
import { parseRequest } from '../packages/files/src/request.js';
import { beginningOf, endingOf } from '../packages/files/src/tables/header.js';
import { READINGS } from '../packages/files/src/tables/readings.js';
import { SmallTable } from '../packages/files/src/tables/small-table.js';
import { tableName } from '../packages/files/src/tables/table-names.js';
import { fileOfBlock } from '../packages/langgraph/src/content-pieces.js';
import { outputFile } from '../packages/openai-agents/src/output-files.js';
import { safeName } from '../packages/cli/src/answer-files.js';
import { isMediaType, isTextType } from '../src/query/contract/media-types.js';
import { traceOf } from '../src/query/contract/trace-context.js';
import { casesOf } from './support/long-form.js';

/** Characters of a text: as many as a request of the files agent may have. */
const LENGTH = 19_900;
/** Microseconds of the processor that it may take. To read it without going back takes less than a thousand. */
const BOUND = 20_000;

const TRACEPARENT = `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01`;

/** What reads texts of callers, models and files, and texts that begin what its expressions look for. */
const READERS: Record<string, [read: (text: string) => unknown, ...words: string[]]> = {
  'a request of the files agent': [
    parseRequest,
    ...['select ', 'with ', 'show tables', 'describe ', 'recursive ', ' as ', ' as csv', '("a"', ';'],
    ...['find ', 'page ', 'pages 1', 'sheet', 'entry', 'outline', 'text', ' of ', '.pdf'],
  ],
  'the media type of a file': [(text) => [isMediaType(text), isTextType(`a/${text}`)], 'a/b', '; a=b', '="'],
  'a trace': [(text) => traceOf(TRACEPARENT, text), 'a=b', ','],
  'a file name of a model': [(text) => fileName('image/png', text), 'a/'],
  'a file name of an agent': [safeName, '.', '. '],
  'a data URL of a model': [
    (text) => [
      fileOfBlock({ type: 'image', url: `data:${text}` }),
      outputFile(`data:${text}`, 'a/b', 'file'),
    ],
    ...['a/b', 'base64', ',', ';base64'],
  ],
  'the beginning of a text file': [(text) => textKindOf({ name: 'a', mimeType: text }, text), '[', '{', '+'],
  'a shown text': [block, '`', '\r'],
  'the name of a table': [(text) => tableName(text, text, new Set()), '_', '.'],
  'a cell of a table': [
    (text) => [
      beginningOf([[text], ['1']]),
      endingOf([[text, '1']]),
      READINGS.map(({ read }) => read(text)),
      SmallTable.of([[text]], 1, undefined, [], undefined),
    ],
    ...['1', '1,', '.', '1.', '0', '2024-01-01T', 'e+', '\u3000'],
  ],
};

describe('To read little takes little time, whatever is repeated in it:', () => {
  it.each(Object.entries(READERS))('%s', (_, [read, ...words]) => {
    const word = fc.constantFrom('', ' ', '\t', '\n', 'a', '/', '"', ...words);
    fc.assert(
      fc.property(word, word, word, (start, repeated, end) => {
        const text = `${start}${(repeated || ' ').repeat(LENGTH).slice(0, LENGTH)}${end}`;
        let least = Infinity;
        // The processor's time, which a busy machine does not change. Some of it may have been the collector's.
        for (let time = 0; time < 3 && least >= BOUND; time += 1) {
          const begin = process.cpuUsage();
          read(text);
          const { user, system } = process.cpuUsage(begin);
          least = Math.min(least, user + system);
        }
        expect(least).toBeLessThan(BOUND);
      }),
      { numRuns: casesOf(200) },
    );
  });
});
