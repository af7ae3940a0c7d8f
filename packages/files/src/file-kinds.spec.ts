import { gzipSync } from 'node:zlib';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { describedBy, fixture } from '../../../test/support/described-file.js';
import { nestedMail, nestedZip, openDocumentOf, tarOf, zipOf } from '../../../test/support/hostile-files.mjs';
import { FilesHandler, FilesLimits } from './index.js';

describe('The kinds of files', () => {
  const handlers: FilesHandler[] = [];
  let usual: FilesHandler;

  function handlerWith(values: Partial<FilesLimits> = {}): FilesHandler {
    const handler = new FilesHandler(Object.assign(new FilesLimits(), values));
    handlers.push(handler);
    return handler;
  }

  beforeAll(() => {
    usual = handlerWith();
  });

  afterAll(() => Promise.all(handlers.map((handler) => handler.onApplicationShutdown())));

  const REPORT = 'Headings:\n\n- `Annual report`\n  - `Figures`';
  const TABLE = 'Table 1 begins:\n\n| `Quarter` | `Cards` |\n| --- | --- |\n| `1` | `1200` |';
  const TEXT = 'Its text begins:\n\n```text\nAnnual report\nThe year was good for the engine.\nFigures';
  const REVIEW = '8 words in 6 paragraphs. 1 table. 1 comment.\n\nHeadings:\n\n- `Review`';
  const COMMENT = 'Comments:\n\n- `Ada`: `Is this the right word?`';

  it.each([
    [
      'report.odt',
      '**OpenDocument text**, 12.8 kB. Title: `Annual report`. 20 words in 8 paragraphs. 1 table.',
    ],
    ['report.odt', `${REPORT}\n\n${TABLE}\n\n${TEXT}`],
    ['comments.odt', REVIEW],
    ['comments.odt', COMMENT],
    [
      'orders.ods',
      '2 sheets.\n\nSheet `Orders`: 4 rows × 5 columns.\n\n| `order` | `customer` | `date` | `amount` | `paid` |',
    ],
    ['orders.ods', '| `3` | `Linus` | `2024-02-29` | `7.25` | `1` |'],
    ['orders.ods', 'Columns of sheet `Orders`: 3 rows of 5 columns.\n\n| column | type | missing |'],
    ['orders.ods', '| `date` | date | 0 | 3 |'],
    [
      'slides.odp',
      '**OpenDocument presentation**, 15 kB. 2 slides, 8 words.\n\n1. `The analytical engine`\n2. `Next steps`',
    ],
    [
      'report.epub',
      'Title: `Annual report`. Language: `en`. Author: `Ada Lovelace`. 2 chapters:\n\n1. `Annual report`\n2. `Figures`\n\n24 words in 2 documents.\n\nIts text begins:',
    ],
    [
      'report.rtf',
      '**RTF document**, 5.65 kB. Title: `Annual report`. Author: `Ada Lovelace`. 20 words in 8 paragraphs. 1 table.',
    ],
    ['report.rtf', `${REPORT}\n\n${TABLE}\n\n${TEXT}`],
    ['report.rtf', 'Grüße aus Köln & more. Link'],
    ['comments.rtf', REVIEW],
    ['comments.rtf', COMMENT],
    ['comments.docx', REVIEW],
    ['comments.docx', COMMENT],
    ['comments.docx', 'Table 1 begins:\n\n| `Part` | `Wheels` |\n| --- | --- |\n| `Store` | `1000` |'],
    [
      'report.html',
      '**HTML page**, 523 bytes. Title: `Annual report`. Description: `What the engine did in 1843`. Language: `en`. 1 link, 1 image, 1 script. Encoding: UTF-8. 20 words in 8 paragraphs. 1 table.',
    ],
    ['report.html', `${REPORT}\n\n${TABLE}\n\n${TEXT}`],
    [
      'mail.eml',
      '**E-mail**, 7.57 kB. Subject: `Figures of the engine: Grüße`. From: `Ada Lovelace <ada@example.org>`. To: `Grace <grace@example.org>`, `Linus <linus@example.org>`. Date: `2024-02-29T11:30:00.000Z`.\n\nIts text begins:\n\n```text\nDear Grace,\n\nthe figures are attached.\n\nAda\n```',
    ],
    [
      'mail.eml',
      '2 attachments:\n\n| name | type | size |\n| --- | --- | --- |\n| `figures.csv` | `text/csv` | 27 bytes |\n| `archive.zip` | `application/zip` | 4.67 kB |',
    ],
    ['mail.eml', 'In `figures.csv`: **CSV table**, 27 bytes.'],
    ['mail.eml', 'In `archive.zip`: **ZIP archive**, 4.67 kB. 2 files, 8.9 kB unpacked'],
    [
      'analysis.ipynb',
      '**Jupyter notebook**, 1.01 kB. Language: `python`. Kernel: `Python 3`. 3 cells: 1 markdown, 2 code. Outputs: 1 text, 1 picture, 1 error.\n\nHeadings:\n\n- `Analysis`\n  - `Figures`\n\nIts code begins:\n\n```python\nimport math\nprint(1)\n\nplot()\n```',
    ],
    [
      'settings.yaml',
      '2 documents, together of this shape:\n\n```text\nobject\n  name: string\n  columns?: array (2 items) of string\n  parts?: array (2 items) of object\n    id: integer\n    weight: number\n    note?: string\n  again?: array (2 items) of string\n```',
    ],
    [
      'settings.toml',
      'Its shape:\n\n```text\nobject\n  title: string\n  built: string\n  mill: object\n    wheels: integer\n    ratios: array (2 items) of number\n  parts: array (2 items) of object\n    id: integer\n    note?: string\n```',
    ],
    [
      'tone.mp3',
      '**MP3 sound**, 8.45 kB. 2 s, `MPEG 1 Layer 3`, 32 kbit/s, 44,100 Hz, 1 channel. Title: `Concert pitch`. Artist: `Ada`. Album: `Tones`. Year: `1843`.',
    ],
    ['tone.flac', '0.2 s, `FLAC`, '],
    ['tone.ogg', '0.5 s, `Vorbis I`, '],
    ['film.mp4', '**MP4 video**, 9.67 kB. 2 s, `MPEG-4/AAC`, `avc1`, '],
    ['film.webm', '**WEBM video**, 2.67 kB. 2 s, 64 × 40 pixels, `VP8`.'],
    [
      'photo.jpg',
      '64 × 40 pixels. Camera: `Acme Box 1`. Taken: `2024-02-29 12:30:00`. 1/250 s, f/5.6, 50 mm, ISO 200. Artist: `Ada`. Place: 50.93750, -6.96030.\n',
    ],
    ['photo.webp', '64 × 40 pixels. Camera: `Acme Box 1`.'],
    ['animated.gif', '32 × 20 pixels, 3 frames in 0.6 s.\n'],
    [
      'report.pdf',
      'Author: `Ada Lovelace`.\n\nOutline:\n\n- `Annual report`\n  - `Figures`\n\nIts text begins:',
    ],
    ['chinese-japanese.pdf', 'Outline:\n\n- `Chapter one`\n  - `Section`\n- `章二`'],
    ['chinese-japanese.pdf', '```text\n你好世界 分析机\n解析機関 こんにちは\n```'],
  ])('describes %s with: %s', async (name, sentence) => {
    expect(await describedBy(usual, name, await fixture(name))).toContain(sentence);
  });

  it.each([
    'tar-gnu.tar.gz',
    'tar-oldgnu.tar.gz',
    'tar-posix.tar.gz',
    'tar-posix-sparse-0.1.tar.gz',
    'tar-ustar.tar.gz',
  ])('reads all of %s: long names, links, devices and a sparse file', async (name) => {
    const text = await describedBy(usual, name, await fixture(name));
    expect(text).toContain('5 files, 1.05 MB unpacked');
    expect(text).toContain('2 links. 2 devices or pipes.');
    expect(text).toContain('| `./sparse` | 1.05 MB |');
    expect(text).toContain('| `./umlaut-ä.py` | 738 bytes |');
    expect(text).toContain('`./long-folder-name/long-folder-name/long-folder-name/');
    expect(text).not.toContain('broken');
  });

  it('describes archives in archives, three levels deep', async () => {
    const inner = zipOf([['deepest.txt', Buffer.from('text')]]);
    const tar = gzipSync(await fixture('archive.tar'));
    const text = await describedBy(
      usual,
      'a.zip',
      zipOf([
        ['b.zip', zipOf([['c.zip', zipOf([['d.zip', inner]])]])],
        ['e.tar.gz', tar],
      ]),
    );
    expect(text).toContain('In `b.zip`: **ZIP archive**, ');
    expect(text).toContain('In `c.zip`: **ZIP archive**, ');
    expect(text).toContain('In `d.zip`: No more than 3 levels of files in files are opened.');
    expect(text).not.toContain('deepest.txt');
    expect(text).toContain('In `e.tar.gz`: **tar archive, compressed with gzip**, ');
    expect(text).toContain('| `folder/numbers.txt` | 8.89 kB |');
  });

  it('describes what is known of a file that is not of the kind that its name says', async () => {
    expect(await describedBy(usual, 'message', await fixture('mail.eml'))).toContain('**E-mail**');
    expect(await describedBy(usual, 'page', await fixture('report.html'))).toContain('**HTML page**');
    expect(await describedBy(usual, 'a.txt', 'From: here\nto there\n\ntext')).toContain('**Text file**');
    expect(await describedBy(usual, 'a.yaml', '{\\rtf1 text}')).toContain('**RTF document**');
    expect(await describedBy(usual, 'a.ipynb', 'text')).toContain(
      'This notebook is broken or cut off: no cell of it can be read.',
    );
  });

  it('says that the text of an e-book is encrypted', async () => {
    const file = zipOf(
      Object.entries({
        mimetype: 'application/epub+zip',
        'META-INF/container.xml': '<container><rootfile full-path="a/b.opf"/></container>',
        'META-INF/encryption.xml': '<encryption><CipherReference URI="a/c%20d.xhtml"/></encryption>',
        'a/b.opf':
          '<package><title>Sold</title><item id="c" href="c%20d.xhtml"/><itemref idref="c"/></package>',
        'a/c d.xhtml': 'secret',
      }).map(([name, content]) => [name, Buffer.from(content)]),
    );
    expect(await describedBy(usual, 'a.epub', file)).toMatch(/Title: `Sold`\.\n\nIts text is encrypted\.\n/);
  });

  it.each<[string, string, string, number?]>([
    ['Arrow stream', 'Save it as CSV or Parquet.', '\xff\xff\xff\xff\x20\x06\0\0\x10\0\0\0\0\0\x0a\0'],
    ['SPSS data', 'Save it as CSV or Parquet.', '$FL2@(#) SPSS\0'],
    ['Stata data', 'Save it as CSV or Parquet.', '<stata_dta><header><release>118</release>\0'],
    ['Stata data', 'Save it as CSV or Parquet.', 's\x02\x01\0\x05\0'],
    ['SAS data', 'Save it as CSV or Parquet.', '\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92', 12],
    ['HDF5 or NetCDF-4 data', 'Send what is needed of it as CSV, JSON or text.', '\x89HDF\r\n\x1a\n\0'],
    ['NumPy array', 'Send what is needed of it as CSV, JSON or text.', '\x93NUMPY\x01\0'],
    ['Sun sound (AU)', 'Save it as WAV.', '.snd\0\0\0\x18'],
    ['DICOM image', 'Save it as PNG or JPEG.', 'DICM\x02\0', 128],
    ['Access database', 'Save its tables as CSV.', 'Standard Jet DB\0', 4],
  ])('%s is named, and the answer says what to send instead', async (title, hint, bytes, at = 0) => {
    const content = Buffer.alloc(512);
    content.write(bytes, at, 'latin1');
    const answer = await describedBy(usual, 'data.bin', content);
    expect(answer).toContain(
      `**${title}**, 512 bytes. This kind of file is not read here. ${hint}\n\nSHA-256: `,
    );
  });

  it('dBASE tables are named, and other files with the same first byte are not', async () => {
    const table = Buffer.alloc(100);
    table.set([3, 124, 5, 17, 2, 0, 0, 0, 65, 0, 12, 0]);
    table[64] = 0x0d;
    expect(await describedBy(usual, 'a.dbf', table)).toContain('**dBASE table (DBF)**, 100 bytes. This kind');
    table[64] = 0;
    expect(await describedBy(usual, 'a.dbf', table)).toContain('**Binary file**, 100 bytes. This kind');
  });

  it.each([
    ['Workbook', 'Excel workbook of 97 to 2003 (XLS)', 'Save it as XLSX.'],
    ['WordDocument', 'Word document of 97 to 2003 (DOC)', 'Save it as DOCX.'],
    ['__properties_version1.0', 'Outlook message (MSG)', 'Save it as EML.'],
    ['Unknown', 'Compound file, such as an older document', 'Save it in a current format.'],
  ])('compound files with the stream %s are named', async (stream, title, hint) => {
    const content = Buffer.alloc(2048);
    content.write('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 0, 'latin1');
    content.write(stream, 1024, 'utf16le');
    const answer = await describedBy(usual, 'a.bin', content);
    expect(answer).toContain(`**${title}**, 2.05 kB. This kind of file is not read here. ${hint}`);
  });

  it('binary workbooks and data of R in gzip are named', async () => {
    const book = zipOf([['xl/workbook.bin', Buffer.from('x')]]);
    expect(await describedBy(usual, 'a.xlsb', book)).toContain(
      'Excel binary workbook (XLSB): it is broken or cut off.',
    );
    const text = await describedBy(usual, 'a.csv.gz', gzipSync('ORC,n\na,1\nb,2\n'));
    expect(text).toContain('Inside: text, UTF-8.');
    const data = gzipSync(Buffer.from('RDX3\nX\n\0\0\0\x03', 'latin1'));
    expect(await describedBy(usual, 'a.rda', data)).toContain(
      'Inside: R data. This kind of file is not read here. Save it as CSV or Parquet.',
    );
  });

  it.each(['constructor', 'toString', '__proto__'])(
    'takes a name like %s inside a file for unknown',
    async (name) => {
      const book = zipOf(
        Object.entries({
          mimetype: 'application/epub+zip',
          'META-INF/container.xml': '<container><rootfile full-path="b.opf"/></container>',
          'b.opf': `<package><title>Sold</title><${name}>Ada</${name}></package>`,
        }).map(([path, content]) => [path, Buffer.from(content)]),
      );
      expect(await describedBy(usual, 'a.epub', book)).toContain(
        'bytes. Title: `Sold`.\n\n0 words in 0 documents.',
      );
      expect(await describedBy(usual, 'a.bin', openDocumentOf(name, '<a/>'))).toContain('**ZIP archive**, ');
    },
  );

  it('says which mark a tar archive lacks that has all of its entries', async () => {
    const text = await describedBy(usual, 'a.tar', tarOf({ blocks: 0 }));
    expect(text).toContain(
      'The mark at the end of this tar archive is missing: it may be cut off. It holds: ',
    );
    expect(text).toContain('At least 1 file, 0 bytes unpacked.');
  });

  describe('say in one sentence why a hostile file is not read', () => {
    const HUGE = '\x80\0\0\0\0\x7f\xff\xff\xff\xff\xff\xff';
    const LAUGHS = `a: &a [${'x,'.repeat(9)}x]\n${[...'bcdefghi']
      .map((name, index) => `${name}: &${name} [${`*${'abcdefghi'[index]!},`.repeat(9)}1]`)
      .join('\n')}`;
    const HEADERS = 'From: a@example.org\nTo: b@example.org\n';

    it.each<[string, string | Buffer, string]>([
      [
        'a.html',
        `<html ${Array.from({ length: 2000 }, (_, i) => `b${i}`).join(' ')}>`,
        'An element of this page has more than 1000 attributes.',
      ],
      ['a.html', '<div>'.repeat(200_000), 'The elements of this page are nested deeper than 1000 levels.'],
      [
        'a.odt',
        openDocumentOf('text', '<a>'.repeat(100_000)),
        'The elements of this document are nested deeper than 1000 levels.',
      ],
      [
        'a.odt',
        openDocumentOf('text', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a><p>&x;</p></a>'),
        'This document is broken: the XML inside is not well-formed.',
      ],
      [
        'a.odp',
        zipOf([
          ['mimetype', Buffer.from('application/vnd.oasis.opendocument.presentation')],
          ['META-INF/manifest.xml', Buffer.from('<manifest><encryption-data/></manifest>')],
        ]),
        'This document is encrypted: it opens with its password only.',
      ],
      [
        'a.epub',
        zipOf([['mimetype', Buffer.from('application/epub+zip')]]),
        'This e-book is broken: it does not say what it consists of.',
      ],
      [
        'a.rtf',
        `{\\rtf1${'{'.repeat(100_000)}`,
        'The groups of this document are nested deeper than 1000 levels.',
      ],
      ['a.rtf', '{\\rtf1\\bin4000000000 text', 'This document is cut off: its end is missing.'],
      [
        'a.eml',
        nestedMail(1000),
        'It is not read further: its headers are too long, or its parts nested too deeply.',
      ],
      [
        'a.eml',
        `${HEADERS}Subject: ${'long '.repeat(600_000)}\n\ntext`,
        'It is not read further: its headers are too long, or its parts nested too deeply.',
      ],
      [
        'a.yaml',
        LAUGHS,
        'Its shape is not described, because this YAML is broken: Excessive alias count indicates a resource exhaustion attack.',
      ],
      ['a.yaml', '['.repeat(10_000), 'Its shape is not described, because this YAML is broken: '],
      ['a.toml', `a = ${'['.repeat(100_000)}`, 'Its shape is not described, because this TOML is broken: '],
      ['a.toml', `a = "${'x'.repeat(2_000_000)}"`, 'Its shape is not described: it has more than 524 kB.'],
      ['a.tar', tarOf({ size: HUGE }), 'This tar archive is broken or cut off.'],
      ['a.tar', tarOf({ size: '\xff'.repeat(12) }), 'This tar archive is broken or cut off.'],
      ['a.tar', tarOf({ type: 'x', size: '77777777777\0' }), 'This tar archive is broken or cut off.'],
    ])('%s (case %#)', async (name, content, sentence) => {
      expect(await describedBy(usual, name, content)).toContain(sentence);
    });

    it.each([
      ['film.mp4', 5000, 'This MP4 file is broken or cut off: it cannot be read.'],
      ['film.webm', 300, 'This WEBM file is broken or cut off: it cannot be read.'],
      ['report.rtf', 4000, 'This document is cut off: its end is missing.'],
      ['analysis.ipynb', 700, 'This notebook is broken or cut off. Before that it holds: '],
      ['report.odt', 9000, 'This ZIP archive is broken or cut off'],
      ['animated.gif', 150, 'The file seems cut off: its end is missing.'],
    ])('%s cut after %i bytes', async (name, length, sentence) => {
      expect(await describedBy(usual, name, (await fixture(name)).subarray(0, length))).toContain(sentence);
    });

    it('a spreadsheet whose few rows stand for very many', async () => {
      const cell =
        '<table-cell office:value-type="float" office:value="1" table:number-columns-repeated="16384"/>';
      const row = `<table-row table:number-rows-repeated="1048576">${cell}</table-row>`;
      const content = `<table table:name="Data">${row.repeat(1000)}</table>`;
      expect(await describedBy(usual, 'a.ods', openDocumentOf('spreadsheet', content))).toContain(
        'Sheet `Data`: 1,048,576,000 rows × 16,384 columns.',
      );
      const narrow = content.replaceAll('16384', '100');
      const handler = handlerWith({ expandedMiB: 2 });
      expect(await describedBy(handler, 'a.ods', openDocumentOf('spreadsheet', narrow))).toContain(
        'Reading stopped here: it unpacks to more than 2.1 MB.',
      );
    });

    it('a picture whose camera has a name as long as the file, after its size', async () => {
      const entries: [number, number, number, number][] = [
        [0x100, 4, 1, 64],
        [0x101, 4, 1, 40],
        ...Array.from({ length: 500 }, (): [number, number, number, number] => [0x10f, 2, 15_000_000, 8]),
      ];
      const picture = Buffer.alloc(16_000_000, 'A');
      picture.write('II*\0\x08\0\0\0', 0, 'latin1');
      picture.writeUInt16LE(entries.length, 8);
      entries.forEach(([tag, type, amount, value], index) => {
        const at = 10 + index * 12;
        picture.writeUInt16LE(tag, at);
        picture.writeUInt16LE(type, at + 2);
        picture.writeUInt32LE(amount, at + 4);
        picture.writeUInt32LE(value, at + 8);
      });
      const text = await describedBy(usual, 'a.tiff', picture);
      expect(text).toContain('**TIFF image**, 16 MB. 64 × 40 pixels.');
      expect(text.length).toBeLessThan(1000);
    });

    it('an archive of archives of archives, in an answer that stays small', async () => {
      const text = await describedBy(usual, 'a.zip', nestedZip(5, 16));
      expect(text).toContain('(No more than 3 files in it are opened.)');
      expect(text.length).toBeLessThan(12_000);
    });

    it('an e-mail whose text takes more memory than the limit, after its headers', async () => {
      const text = await describedBy(
        handlerWith({ memoryMiB: 64 }),
        'a.eml',
        `${HEADERS}Subject: long\n\n${'line\n'.repeat(1_500_000)}`,
      );
      expect(text).toContain(
        'Subject: `long`. From: `a@example.org`. To: `b@example.org`.\n\nReading stopped here: ',
      );
    });
  });

  it('write nothing to the log of the service because of hostile files', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn');
    await describedBy(usual, 'a.eml', nestedMail(1000));
    await describedBy(usual, 'a.tar', tarOf({ size: '\xff'.repeat(12) }));
    await describedBy(usual, 'a.mp4', (await fixture('film.mp4')).subarray(0, 5000));
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });
});
