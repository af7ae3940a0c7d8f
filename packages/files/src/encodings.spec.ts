import { describedBy } from '../../../test/support/described-file.js';
import { contextOf } from '../../../test/support/handler-context.js';
import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { zipOf } from '../../../test/support/hostile-files.mjs';
import type { FilePart, QueryPart, Turn } from 'nest-agent-query';
import { FilesHandler } from './index.js';

/** `都市`, `東京` and `天気` in Shift_JIS. */
const CITY = Buffer.from('93738e73', 'hex');
const TOKYO = Buffer.from('938c8b9e', 'hex');
const WEATHER = Buffer.from('93568b43', 'hex');
/** `Погода` in Windows-1251, and `Łódź` in ISO-8859-2. */
const RUSSIAN = Buffer.from('cfeee3eee4e0', 'hex');
const POLISH = Buffer.from('a3f364bc', 'hex');

const joined = (...parts: (string | Buffer)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));

describe('The encoding of a text', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (request: string, ...files: FilePart[]) => answerOf(handler, [...files, request]);
  const PAGE = joined('<!doctype html><meta charset="Shift_JIS"><title>', WEATHER, '</title><p>', CITY);
  const CSV = joined(CITY, ',n\n', TOKYO, ',2\n');

  it.each<[string, string, Buffer, string, string]>([
    ['a.html', '', PAGE, 'Title: `天気`.', 'Encoding: shift_jis, as declared.'],
    [
      'a.html',
      '',
      joined(
        '<html><meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>',
        RUSSIAN,
        '</p>',
      ),
      'Погода',
      'Encoding: windows-1251, as declared.',
    ],
    [
      'a.xml',
      '',
      joined('<?xml version="1.0" encoding="ISO-8859-2"?>\n<a>', POLISH, '</a>'),
      'Łódź',
      'Encoding: iso-8859-2, as declared.',
    ],
    ['a.csv', 'text/csv; charset=shift_jis', CSV, '`都市`', 'Encoding: shift_jis, as declared.'],
    ['a.txt', 'text/plain; charset="windows-1251"', RUSSIAN, 'Погода', 'windows-1251, as declared.'],
    [
      'a.json',
      'application/json; charset=windows-1251',
      joined('[{"a":"', RUSSIAN, '"}]'),
      'Погода',
      'a: string',
    ],
    [
      'a.txt',
      'text/plain; charset=iso-2022-jp',
      Buffer.from('1b2442456c357e1b2842', 'hex'),
      '東京',
      'iso-2022-jp',
    ],
    ['a.txt', 'text/plain; charset=utf-16le', Buffer.from('67714eac', 'hex').swap16(), '東京', ''],
    ['a.html', 'text/html; charset=windows-1251', joined('<meta charset=shift_jis>', RUSSIAN), 'Погода', ''],
  ])('is the one that %s or its type declares: %s', async (name, type, content, text, encoding) => {
    const answer = await describedBy(handler, name, content, type || undefined);
    if (name !== 'a.json') expect(answer).toContain(text);
    expect(answer).toContain(encoding);
    const file = { ...filePart(name, content), ...(type && { mimeType: type }) };
    expect(await ask('text', file)).toContain(
      name === 'a.csv' ? '東京,2' : text.replace(/^Title: `天気`\.$/, '都市'),
    );
  });

  it('is that of a statement too', async () => {
    const file = { ...filePart('a.csv', CSV), mimeType: 'text/csv; charset=shift_jis' };
    expect(await ask('select * from a', file)).toContain('| `都市` | `n` |\n| --- | --- |\n| `東京` | 2 |');
  });

  it('is not the declared one if that is no encoding, or UTF-8 and the bytes are not', async () => {
    const page = joined('<html><meta charset="none"><p>', Buffer.from([0xe9]));
    expect(await describedBy(handler, 'a.html', page)).toContain('not UTF-8, read as Windows-1252');
    expect(await describedBy(handler, 'a.txt', Buffer.from([0xe9]), 'text/plain; charset=utf-8')).toContain(
      'not UTF-8, read as Windows-1252',
    );
    expect(await describedBy(handler, 'a.html', '<html><meta charset="utf-16"><p>é')).toContain(
      'Encoding: UTF-8.',
    );
  });

  it('of an RTF file is the one that it states, with quotation marks and code pages of DOS', async () => {
    const rtf = (page: string, text: string) => filePart('a.rtf', `{\\rtf1\\ansi\\ansicpg${page} ${text}}`);
    expect(await ask('text', rtf('1252', "\\'93yes\\'94 for 5 \\'80"))).toContain('“yes” for 5 €');
    expect(await ask('text', rtf('850', "gr\\'81n"))).toContain('grün');
  });

  it('of documents in an e-book is obeyed as well', async () => {
    const book = zipOf([
      ['mimetype', Buffer.from('application/epub+zip')],
      ['META-INF/container.xml', Buffer.from('<container><rootfile full-path="b.opf"/></container>')],
      [
        'b.opf',
        joined(
          '<?xml version="1.0" encoding="windows-1251"?><package><title>',
          RUSSIAN,
          '</title><item id="c" href="c"/><itemref idref="c"/></package>',
        ),
      ],
      ['c', joined('<?xml version="1.0" encoding="windows-1251"?><p>', RUSSIAN, '</p>')],
    ]);
    expect(await describedBy(handler, 'a.epub', book)).toMatch(/Title: `Погода`[^]*text\nПогода/);
  });

  it('is the one that a request names, also for what is asked afterwards', async () => {
    const file = filePart('a.csv', joined('city\n', RUSSIAN, '\n'));
    const other = filePart('b.txt', RUSSIAN);
    expect(await ask('encoding windows-1251', file)).toContain('Encoding: windows-1251, as declared.');
    expect(await ask('encoding cp1251 of a.csv', file, other)).not.toContain('b.txt');
    expect(
      await answerOf(handler, [
        file,
        other,
        'encoding windows-1251 of a.csv',
        'select * from a',
        'text of b.txt',
      ]),
    ).toMatch(/`Погода` \|\n\n\(1 row[^]*Погода[^]*is a guess/);
    const turnOf = (...parts: QueryPart[]) => ({ parts, text: '' }) as unknown as Turn;
    const context = {
      session: { id: 's', olderTurns: 0, file: async () => file.file },
      history: [
        turnOf(file),
        turnOf({ type: 'text', text: 'encoding windows-1252' }),
        turnOf({ type: 'text', text: 'encoding windows-1251' }),
      ],
    };
    expect(await answerOf(handler, ['select * from a'], context)).toContain('`Погода`');
    expect(await handler.answerTo('encoding windows-1251', [other], contextOf())).toContain('Погода');
    expect(await ask('encoding problems', other)).not.toContain('as declared');
  });

  it('is UTF-8 if the text has U+FFFD itself, which is not counted as a fault', async () => {
    const damaged = 'city\nM\ufffdnchen\n';
    const csv = await describedBy(handler, 'a.csv', damaged);
    expect(csv).toContain('Encoding: UTF-8.');
    expect(csv).toContain('`M\ufffdnchen`');
    expect(csv).not.toContain('could not be decoded');
    expect(await ask('select * from a', filePart('a.csv', damaged))).toContain('`M\ufffdnchen`');
    const text = await describedBy(handler, 'a.txt', damaged);
    expect(text).toContain('Encoding: UTF-8.');
    expect(text).not.toContain('could not be decoded');
    const far = joined('x'.repeat(262_143), '\ufffd end');
    expect(await describedBy(handler, 'a.txt', far)).toContain('Encoding: UTF-8.');
    const broken = joined('x'.repeat(70_000), 'é \ufffd ', Buffer.from([0xff, 0x20]));
    expect(await describedBy(handler, 'a.txt', broken)).toContain('1 character could not be decoded.');
    const wide = Buffer.from(`\ufeff${damaged}\ud800x`, 'utf16le');
    expect(await describedBy(handler, 'a.txt', wide)).toContain('1 character could not be decoded.');
  });

  it('of a name in a ZIP archive is UTF-8 if it can be', async () => {
    // The names have no flag that says what they are.
    const named = (...bytes: number[]) => {
      const name = `${'x'.repeat(bytes.length)}t.txt`;
      const archive = zipOf([[name, Buffer.from('warm')]]).toString('latin1');
      return Buffer.from(archive.replaceAll(name, `${String.fromCharCode(...bytes)}t.txt`), 'latin1');
    };
    expect(await describedBy(handler, 'a.zip', named(0xc3, 0xa9))).toContain('`ét.txt`');
    expect(await ask('entry ét.txt', filePart('a.zip', named(0xc3, 0xa9)))).toContain('warm');
    // This is é in the code page of DOS, and no UTF-8.
    expect(await describedBy(handler, 'a.zip', named(0x82))).toContain('`ét.txt`');
  });
});
