import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { FilesHandler } from './index.js';

const wide = (text: string, label: string) => {
  const size = label.startsWith('utf-32') ? 4 : 2;
  const units =
    size === 4 ? [...text].map((each) => each.codePointAt(0)!) : [...text].map((each) => each.charCodeAt(0));
  const bytes = Buffer.alloc(units.length * size);
  units.forEach((unit, at) => {
    if (label.endsWith('le')) bytes.writeUIntLE(unit, at * size, size);
    else bytes.writeUIntBE(unit, at * size, size);
  });
  return bytes;
};

describe('A text with two or four bytes for a character', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (request: string, content: Buffer) => answerOf(handler, [filePart('a.txt', content), request]);

  it.each([
    ['UTF-32, little-endian', 'utf-32le', '\ufeffGrüße 😀'],
    ['UTF-32, big-endian', 'utf-32be', '\ufeffGrüße 😀'],
    ['UTF-32, little-endian, unmarked', 'utf-32le', 'Привет'],
    ['UTF-32, big-endian, unmarked', 'utf-32be', 'Hello'],
    ['UTF-16, little-endian, unmarked', 'utf-16le', 'Привет, как дела'],
    ['UTF-16, big-endian, unmarked', 'utf-16be', 'Привет, как дела'],
  ])('is read as %s', async (name, label, text) => {
    const shown = text.replace('\ufeff', '');
    expect(await ask('text', wide(text, label))).toContain(`\`\`\`text\n${shown}\n\`\`\``);
    expect(await ask('describe', wide(text, label))).toContain(`Encoding: ${name}.`);
  });

  it('is none where numbers only look like one', async () => {
    expect(
      await ask('describe', wide('\u0001\u0402\u0403\u0404\u0405\u0406\u0407\u0408', 'utf-16le')),
    ).toContain('**Binary file**');
  });
});
