import { codeBlocks, read } from './support/documents.js';

const PAGES = ['pages/assistant-ui.jsx', 'pages/use-object.jsx', 'copilotkit/page.jsx'];

describe('docs/protocols.md', () => {
  const sources = PAGES.map((page) => withoutComments(read(`test/clients/front-ends/${page}`)));
  const pieces = codeBlocks('docs/protocols.md')
    .filter(({ language }) => language === 'jsx')
    .flatMap(({ code }) => withoutComments(code).trim().split('\n\n'));

  it.each(pieces)('shows what is executed in a browser: %s', (piece) => {
    expect(sources.filter((source) => source.includes(piece))).toHaveLength(1);
  });

  it('shows functions of each of these pages', () => {
    for (const source of sources) expect(pieces.some((piece) => source.includes(piece))).toBe(true);
  });
});

function withoutComments(code: string): string {
  return code.replace(/^\/\*\* .* \*\/\n/gm, '');
}
