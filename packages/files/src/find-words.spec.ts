import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { FilesHandler } from './index.js';

describe('A request to find words', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  it.each([
    ['beside a tag', '<?xml version="1.0"?><r><a>Погода</a></r>', 'Погода'],
    ['beside a sign', 'a=total+x|rest', 'total'],
    ['with soft hyphens', 'Donau\u00addampf\u00adschiff', 'Donaudampfschiff'],
    ['whose accent is a character of its own', 'un cafe\u0301 noir', 'café'],
    ['with a ligature', 'the \ufb01nal o\ufb03ce', 'final office'],
    ['of wide letters', 'Ｆｕｌｌ', 'full'],
    ['with a dotted capital letter', 'İzmir', 'izmir'],
    ['in a text without spaces', '東京都に行きました', '京都'],
    ['at the end of a text without spaces', '東京都に行きました', '行きました'],
    ['with vowels that are marks', 'यह हिन्दी है', 'हिन्दी'],
  ])('finds one %s', async (_what, text, words) => {
    expect(await answerOf(handler, [filePart('a.txt', text), `find "${words}"`])).toContain(
      `1 passage with \`${words}\`:\n\n1. \`a.txt\`, line 1: `,
    );
  });

  it('does not find what has only a part of it', async () => {
    expect(await answerOf(handler, [filePart('a.txt', '東に'), 'find "東京"'])).toContain('was not found');
  });
});
