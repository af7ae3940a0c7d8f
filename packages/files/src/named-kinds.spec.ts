import { gzipSync } from 'node:zlib';
import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { zipOf } from '../../../test/support/hostile-files.mjs';
import { FilesHandler } from './index.js';

const NOT_READ = 'This kind of file is not read here.';
const bytesOf = (begin: string, at = 0) =>
  Buffer.concat([Buffer.alloc(at), Buffer.from(begin, 'latin1'), Buffer.alloc(600)]);

describe('A kind of file that is not read', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (request: string, name: string, content: Buffer) =>
    answerOf(handler, [filePart(name, content), request]);

  it.each([
    ['a.mobi', bytesOf('BOOKMOBI', 60), 'E-book (MOBI)', 'Save it as EPUB.'],
    ['a.dwg', bytesOf('AC1032'), 'AutoCAD drawing (DWG)', 'Save it as PDF.'],
    ['a.xcf', bytesOf('gimp xcf v011'), 'GIMP image (XCF)', 'Save it as PNG or JPEG.'],
    ['a.emf', bytesOf(' EMF', 40), 'Windows picture (EMF)', 'Save it as PNG or JPEG.'],
    ['a.wpd', bytesOf('\xffWPC'), 'WordPerfect document', 'Save it as DOCX.'],
    ['a.duckdb', bytesOf('DUCK', 8), 'DuckDB database', 'Save it as CSV or Parquet.'],
    [
      'a.wal',
      bytesOf('\x37\x7f\x06\x82'),
      'Log of a SQLite database (WAL)',
      'Send the database that it belongs to',
    ],
    [
      'a.woff2',
      bytesOf('wOF2\0\x01\0\0'),
      'WOFF2 file',
      'Send what is needed of it as text, CSV, PDF or PNG.',
    ],
    ['a.bin', bytesOf('\x01\x02\x03'), 'Binary file', 'Send what is needed of it as text, CSV, PDF or PNG.'],
  ])('is named, and the answer says what to send instead: %s', async (name, content, title, hint) => {
    const answer = await ask('describe', name, content);
    expect(answer).toContain(`**${title}**`);
    expect(answer).toContain(`${NOT_READ} ${hint}`);
  });

  it.each([
    ['a.pages', 'Pages document (iWork)', 'Save it as DOCX or PDF.'],
    ['a.numbers', 'Numbers spreadsheet (iWork)', 'Save it as XLSX or CSV.'],
    ['a.key', 'Keynote presentation (iWork)', 'Save it as PPTX or PDF.'],
  ])('is no ZIP archive if it is one of iWork: %s', async (name, title, hint) => {
    const content = zipOf([['Index/Document.iwa', Buffer.from('words')]]);
    const answer = await ask('describe', name, content);
    expect(answer).toContain(`**${title}**`);
    expect(answer).toContain(`${NOT_READ} ${hint}`);
    expect(await ask('text', name, content)).not.toContain('words');
  });

  it('is not the text in a file that is packed with gzip, whose encoding may be a guess', async () => {
    // `Привет мир, как дела` in Windows-1251.
    const content = gzipSync(Buffer.from('cff0e8e2e5f220ece8f02c20eae0ea20e4e5ebe0', 'hex'));
    expect(await ask('describe', 'a.txt.gz', content)).toMatch(
      /Inside: text, not UTF-8, read as windows-1251\. That a text is windows-1251 is a guess[^]*Привет мир, как дела/,
    );
  });
});
