import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { zipOf } from '../../../test/support/hostile-files.mjs';
import { FilesHandler } from './index.js';

const CONTAINER = '<container><rootfiles><rootfile full-path="o.opf"/></rootfiles></container>';

function bookOf(documents: string[], others: Record<string, string> = {}, items = ''): Buffer {
  const named = documents.map((content, at): [string, string] => [`${at}.xhtml`, content]);
  const manifest = named.map(([name]) => `<item id="i${name}" href="${name}"/>`).join('');
  const spine = named.map(([name]) => `<itemref idref="i${name}"/>`).join('');
  const entries: Record<string, string> = {
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': CONTAINER,
    'o.opf': `<package><manifest>${manifest}${items}</manifest><spine>${spine}</spine></package>`,
    ...Object.fromEntries(named),
    ...others,
  };
  return zipOf(Object.entries(entries).map(([name, content]) => [name, Buffer.from(content)]));
}

describe('The text of pages and books', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (request: string, name: string, content: string | Buffer) =>
    answerOf(handler, [filePart(name, content), request]);
  const textOf = (body: string) => ask('text', 'a.html', `<!doctype html><title>T</title><body>${body}`);

  it.each(['<title/>', '<script src="a.js"/>', '<style/>'])('goes on after %s in a book', async (element) => {
    const document = `<html><head>${element}</head><body><p>First <a id="x"/>words <![CDATA[a<b]]></p></body></html>`;
    expect(await ask('text', 'a.epub', bookOf([document]))).toContain('\nFirst words a<b\n');
    expect(await ask('describe', 'a.epub', bookOf([document]))).toContain('3 words in 1 document.');
    expect(await ask('text', 'a.xhtml', `<?xml version="1.0"?>${document}`)).toContain('\nFirst words a<b\n');
  });

  it('has the chapters of a book in parts, also where its table of contents has an unusual name', async () => {
    const nav =
      '<html xmlns:epub="http://www.idpf.org/2007/ops"><nav epub:type="toc"><ol><li><span>Part One</span><ol>' +
      '<li><a href="0.xhtml"><span>Chapter</span> <i>1</i></a></li></ol></li></ol></nav></html>';
    expect(
      await ask(
        'describe',
        'a.epub',
        bookOf(['<p>x</p>'], { 'n.xhtml': nav }, '<item id="n" href="n.xhtml" properties="nav"/>'),
      ),
    ).toContain('2 chapters:\n\n1. `Part One`\n2. `Chapter 1`\n');
    const ncx =
      '<ncx><navMap><navPoint><navLabel><text>One</text></navLabel><navPoint><navLabel><text>Two</text></navLabel></navPoint></navPoint></navMap></ncx>';
    expect(
      await ask(
        'describe',
        'a.epub',
        bookOf(
          ['<p>x</p>'],
          { 'toc.xml': ncx },
          '<item id="n" href="toc.xml" media-type="application/x-dtbncx+xml"/>',
        ),
      ),
    ).toContain('2 chapters:\n\n1. `One`\n2. `Two`\n');
  });

  it.each([
    ['Donau&shy;dampf&shy;schiff', 'Donaudampfschiff'],
    ['<pre>one\n  two\nthree</pre>', 'one\ntwo\nthree'],
    ['So <math><mi>E</mi><mo>=</mo><mi>m</mi><annotation>E=m</annotation></math> is.', 'So E=m is.'],
    ['Press <svg><title>Icon</title><path/></svg>here', 'Press here'],
    ['<svg><text>Label</text><text>Other</text></svg>', 'Label\nOther'],
    ['one<script>x()</script>word', 'oneword'],
  ])('is as a person reads it: %s', async (body, text) => {
    expect(await textOf(body)).toContain(`\`\`\`text\n${text}\n\`\`\``);
  });

  it('leaves out what the page hides, and says so', async () => {
    const body =
      '<p>Seen<p hidden>one<input hidden><div style="color:red; display: none"><p>two</div><p>after';
    expect(await textOf(body)).toContain('```text\nSeen\nafter\n```\n\nHidden text is left out.');
    expect(await ask('describe', 'a.html', `<html><body>${body}`)).toContain(
      '2 words in 2 paragraphs. Hidden text is left out.',
    );
  });
});
