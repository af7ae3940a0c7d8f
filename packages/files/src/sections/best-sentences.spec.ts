import { FilesLimits } from '../files-limits.js';
import { bestSentences } from './best-sentences.js';
import { MemoryFile } from '../file-source.js';

const OUTER = {
  name: '',
  mimeType: '',
  size: 0,
  read: async () => new Uint8Array(),
  checkTime: () => undefined,
};

const TEXT = `Annual report

The outlook for Oslo is good: sales are expected to grow by ten
percent next year. In Bergen the market stays weak.

Dr. Hansen was elected chair. The cities are quiet.
`;
const HTML = `<!doctype html><style>p{outlook:1}</style>
<script>outlook()</script>
<p>The <b>outlook</b>
is <i>bright</i>.</p><p>Nothing else.</p>`;

const asked = async (question: string, ...files: [name: string, text: string][]) => {
  const sources = files.map(([name, text]) => new MemoryFile(name, Buffer.from(text), OUTER));
  return (await bestSentences(question, sources, new FilesLimits()))?.text;
};

describe('The sentences with the words of a question', () => {
  it('are whole, also over line breaks, and have their places', async () => {
    expect(await asked('What is the outlook for Oslo?', ['a.txt', TEXT])).toBe(
      'This sentence has words of the question:\n\n' +
        '1. `a.txt`, line 3: `The outlook for Oslo is good: sales are expected to grow by ten percent next year.`',
    );
  });

  it.each([
    ['who was elected?', 'line 6: `Dr. Hansen was elected chair.`'],
    ['the outlok', 'line 3: `The outlook for Oslo is good'],
    ['which city is quiet?', 'line 6: `The cities are quiet.`'],
    ['MARKETS', 'line 4: `In Bergen the market stays weak.`'],
  ])('are found for %j: whole words, plurals, and with one wrong letter', async (question, sentence) => {
    expect(await asked(question, ['a.txt', TEXT])).toContain(sentence);
  });

  it('are three at most, those with the most words first', async () => {
    const many = Array.from({ length: 9 }, (_, index) => `The lamp ${index} is here.`).join('\n\n');
    const found = await asked('a green lamp', ['a.txt', `${many}\n\nA green lamp is there.`]);
    expect(found!.split('\n').slice(2)).toEqual([
      '1. `a.txt`, line 19: `A green lamp is there.`',
      '2. `a.txt`, line 1: `The lamp 0 is here.`',
      '3. `a.txt`, line 3: `The lamp 1 is here.`',
    ]);
  });

  it('are those of a page without its scripts, styles and tags', async () => {
    expect(await asked('the outlook', ['a.html', HTML])).toBe(
      'This sentence has words of the question:\n\n1. `a.html`, line 3: `The outlook is bright.`',
    );
    expect(await asked('the outlook', ['a.html', '<p>The <b>outlook</b> is bright.</p>'])).toContain(
      '1. `a.html`, line 1: `The outlook is bright.`',
    );
  });

  it.each(['unicorns', 'what is this?', ''])('are none for %j', async (question) => {
    expect(await asked(question, ['a.txt', TEXT])).toBeUndefined();
  });

  it('are shown as they are, whatever is in them', async () => {
    expect(await asked('lamp', ['a`.txt', 'A `lamp` <img src=x> **b**.'])).toContain(
      '1. ``a`.txt``, line 1: ``A `lamp` <img src=x> **b**.``',
    );
  });
});
