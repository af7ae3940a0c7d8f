import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { FilesHandler } from './index.js';

const FONTS =
  '{\\fonttbl{\\f0\\fcharset0 Arial;}{\\f1\\fcharset204{\\*\\panose 020b}Arial CYR{\\*\\falt x};}{\\f2\\fcharset238 Arial CE;}' +
  '{\\f3\\fcharset128 Mincho;}{\\f4\\fcharset2 Symbol;}{\\f5\\fcharset2 Wingdings;}}';

describe('The text of an RTF document', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (request: string, body: string, head = `{\\rtf1\\ansi\\ansicpg1252\\deff0${FONTS}`) =>
    answerOf(handler, [filePart('a.rtf', `${head}${body}}`), request]);

  it.each([
    ["\\f1 \\'cf\\'f0\\'e8\\'e2\\'e5\\'f2\\f0  end", 'Привет end'],
    ["{\\f2 \\'a3\\'f3d\\'9f} \\'e9", 'Łódź é'],
    ["{\\f3 \\'93\\'fa\\'96\\'7b}", '日本'],
    ["{\\f4 a\\u-3998?} {\\f5\\'fc\\'01}", 'αβ ✓\ufffd'],
    ["\\f1\\plain \\'e9", 'é'],
  ])('has the letters of the character set of its font: %s', async (body, text) => {
    expect(await ask('text', `${body}\\par`)).toContain(text);
  });

  it.each([
    ["{\\rtf1\\mac Caf\\'8e", 'Café'],
    ["{\\rtf1\\pc Caf\\'82", 'Café'],
    ["{\\rtf1\\pca \\'9d", 'Ø'],
    ["{\\rtf1\\ansi\\ansicpg932 \\'83\\'5c", 'ソ'],
  ])('has the letters of the character set of the document: %s', async (head, text) => {
    expect(await ask('text', '\\par', head)).toContain(`\n${text}\n`);
  });

  it('has no broken letters in long runs of bytes', async () => {
    const answer = await ask('text', `{\\f3 a${"\\'93\\'fa".repeat(5000)}}\\par`);
    expect(answer).toContain(`a${'日'.repeat(5000)}`);
  });

  it.each([
    ['x{\\u233}text', 'xétext'],
    ['\\u8217\\rquote s', '’s'],
    ["{\\uc2\\u26085\\'93\\'fa}b", '日b'],
    ['a\\emspace b\\qmspace c', 'a b c'],
  ])('has each character once: %s', async (body, text) => {
    expect(await ask('text', `${body}\\par`)).toContain(`\n${text}\n`);
  });

  it('has what is in text boxes, nested tables and embedded objects, each apart', async () => {
    const box =
      'Before{\\shp{\\*\\shpinst{\\sp{\\sn type}{\\sv 202}}{\\shptxt Boxed}}{\\shprslt{\\*\\do{\\dptxbxtext Boxed}}}} after\\par';
    const nested =
      '\\trowd\\cellx9\\pard\\intbl\\itap2 in1\\nestcell in2\\nestcell{\\*\\nesttableprops\\trowd\\nestrow}{\\nonesttables\\par}' +
      '\\pard\\intbl\\itap1 out\\cell\\row\\pard ';
    const object = '{\\object\\objemb{\\*\\objdata 0102}{\\result Result}}\\par';
    expect(await ask('text', `${box}${nested}${object}`)).toContain(
      '\nBefore\nBoxed\nafter\nin1\nin2\nout\nResult\n',
    );
  });

  it('leaves out hidden and deleted text, entries of an index and marks of lists, and says that there is hidden text', async () => {
    const body =
      "One{\\v secret} two{\\deleted gone}{\\xe entry}\\v more\\v0 .\\par{\\pntext\\f4\\'b7\\tab}Item\\par";
    expect(await ask('text', body)).toContain('\nOne two.\nItem\n```\n\nHidden text is left out.');
    expect(await ask('describe', body)).toContain('3 words in 2 paragraphs. Hidden text is left out.');
    expect(await ask('find "secret"', body)).toContain(
      '`secret` was not found in 1 file.\n\n`a.rtf`: Hidden text is left out.',
    );
  });
});
