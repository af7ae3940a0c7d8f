import { contextOf } from '../../../test/support/handler-context.js';
import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { describedBy } from '../../../test/support/described-file.js';
import { openDocumentOf, zipOf } from '../../../test/support/hostile-files.mjs';
import { FilesHandler } from './index.js';

const archiveOf = (entries: Record<string, string>) =>
  zipOf(Object.entries(entries).map(([name, content]) => [name, Buffer.from(content)]));
const docxOf = (body: string, others: Record<string, string> = {}) =>
  archiveOf({ 'word/document.xml': `<w:document><w:body>${body}</w:body></w:document>`, ...others });

describe('A document', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  describe('has the first rows of its tables in its description', () => {
    const ROWS = ['Region,City', 'South,Rome', 'Naples,40', 'x,y', 'v,w', 'v2,w2'].map((row) =>
      row.split(','),
    );
    const LONG =
      '| `Region` | `City` |\n| --- | --- |\n| `South` | `Rome` |\n| `Naples` | `40` |\n| `x` | `y` |\n\n(2 more rows.)';
    const rowsOf = (row: (cells: string[]) => string) => ROWS.map(row).join('');
    const inCells = (before: string, after: string) => (cells: string[]) =>
      cells.map((cell) => `${before}${cell}${after}`).join('');

    it.each<[string, string | Buffer]>([
      [
        'a.html',
        `<table>${rowsOf((cells) => `<tr>${inCells('<td>', '</td>')(cells)}</tr>`)}</table><p>x</p>`,
      ],
      [
        'a.docx',
        docxOf(
          `<w:tbl>${rowsOf((cells) => `<w:tr>${inCells('<w:tc><w:p><w:r><w:t>', '</w:t></w:r></w:p></w:tc>')(cells)}</w:tr>`)}</w:tbl>`,
        ),
      ],
      [
        'a.odt',
        openDocumentOf(
          'text',
          `<table:table>${rowsOf((cells) => `<table:table-row>${inCells('<table:table-cell><text:p>', '</text:p></table:table-cell>')(cells)}</table:table-row>`)}</table:table>`,
        ),
      ],
      [
        'a.rtf',
        `{\\rtf1 ${rowsOf((cells) => `\\trowd\\cellx1\\cellx2\\pard\\intbl ${inCells('', '\\cell ')(cells)}\\trowd\\cellx1\\cellx2\\row `)}\\pard after\\par}`,
      ],
    ])('of %s, and how many there are more', async (name, content) => {
      expect(await describedBy(handler, name, content)).toContain(LONG);
    });

    const MERGED =
      '| `Region` | `City` | `Sum` |\n| --- | --- | --- |\n| `North` | `Oslo` | `1` |\n|  | `Bergen` | `2` |\n| `Total` |  | `3` |';

    it.each<[string, string | Buffer]>([
      [
        'a.html',
        '<table><tr><th>Region<th>City<th>Sum<tr><td rowspan=2>North<td>Oslo<td>1<tr><td>Bergen<td>2' +
          '<tr><td colspan=2>Total<td>3</table>',
      ],
      [
        'a.docx',
        docxOf(
          `<w:tbl>${[
            ['Region', 'City', 'Sum'],
            ['North', 'Oslo', '1'],
            ['', 'Bergen', '2'],
          ]
            .map(
              (row) =>
                `<w:tr>${inCells('<w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p><w:r><w:t>', '</w:t></w:r></w:p></w:tc>')(row)}</w:tr>`,
            )
            .join(
              '',
            )}<w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p><w:r><w:t>Total</w:t></w:r></w:p></w:tc>` +
            '<w:tc><w:p><w:r><w:t>3</w:t></w:r></w:p></w:tc></w:tr></w:tbl>',
        ),
      ],
      [
        'a.odt',
        openDocumentOf(
          'text',
          '<table><table-row><table-cell><p>Region</p></table-cell><table-cell><p>City</p></table-cell><table-cell><p>Sum</p></table-cell></table-row>' +
            '<table-row><table-cell table:number-rows-spanned="2"><p>North</p></table-cell><table-cell><p>Oslo</p></table-cell><table-cell><p>1</p></table-cell></table-row>' +
            '<table-row><covered-table-cell/><table-cell><p>Bergen</p></table-cell><table-cell><p>2</p></table-cell></table-row>' +
            '<table-row><table-cell table:number-columns-spanned="2"><p>Total</p></table-cell><covered-table-cell/><table-cell><p>3</p></table-cell></table-row></table>',
        ),
      ],
    ])('of %s, each cell in its column beside merged cells', async (name, content) => {
      expect(await describedBy(handler, name, content)).toContain(MERGED);
    });

    it('of a page with a table in another and with columns that are not shown', async () => {
      const inner = '<table><tr><td>a</table>';
      const row = `<tr>${Array.from({ length: 11 }, (_, at) => `<td>c${at}`).join('')}`;
      const answer = await describedBy(
        handler,
        'a.html',
        `<table><tr><td>${inner.repeat(4)}${row}</table><table><tr><td colspan=1000000 rowspan=99999>x<tr><td>y</table>`,
      );
      expect(answer).toContain(
        '| `c0` | `c1` | `c2` | `c3` | `c4` | `c5` | `c6` | `c7` |\n\n(3 more columns.)',
      );
      expect(answer).toContain('Table 2 begins:\n\n| `x` |\n| --- |\n| `y` |');
    });

    it('of RTF with several tables', async () => {
      const table = (cell: string) => `\\trowd\\cellx1\\pard\\intbl ${cell}\\cell\\row `;
      const answer = await describedBy(
        handler,
        'a.rtf',
        `{\\rtf1 ${table('one')}${table('two')}\\pard between\\par ${table('three')}\\pard after\\par}`,
      );
      expect(answer).toContain('2 tables.');
      expect(answer).toContain('| `one` |\n| --- |\n| `two` |\n\nTable 2 begins:\n\n| `three` |');
    });
  });

  const ask = (request: string, name: string, content: string | Uint8Array) =>
    answerOf(handler, [filePart(name, content), request]);
  const TARGET = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const relationsOf = (...targets: string[]) =>
    `<Relationships>${targets.map((target, at) => `<Relationship Id="r${at}" Type="${TARGET}/x" Target="${target}"/>`).join('')}</Relationships>`;
  const paragraph = (text: string) => `<w:p><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;

  const WITH_ASIDES = docxOf(paragraph('Body text'), {
    'word/_rels/document.xml.rels': relationsOf(
      'settings.xml',
      ...'12345'.split('').map((at) => `n${at}.xml`),
    ),
    'word/settings.xml': '<w:settings><w:footnotePr><w:footnote w:id="0"/></w:footnotePr></w:settings>',
    'word/n1.xml': `<w:footnotes><w:footnote w:type="separator"><w:p/></w:footnote><w:footnote w:id="2">${paragraph('The deposit is 42 euros.')}</w:footnote></w:footnotes>`,
    'word/n2.xml': `<w:endnotes><w:endnote w:id="2">${paragraph('See the annex.')}</w:endnote></w:endnotes>`,
    'word/n3.xml': `<w:hdr><w:tbl><w:tr><w:tc>${paragraph('Confidential')}</w:tc></w:tr></w:tbl></w:hdr>`,
    'word/n4.xml': `<w:ftr>${paragraph('Rental office')}</w:ftr>`,
    'word/n5.xml': `<w:comments><w:comment w:author="Ada">${paragraph('Too much?')}${paragraph('Ask.')}</w:comment></w:comments>`,
  });
  const ODT = archiveOf({
    mimetype: 'application/vnd.oasis.opendocument.text',
    'content.xml':
      '<c><text:h text:outline-level="1">Rent<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>The deposit is 42 euros.</text:p></text:note-body></text:note> of 2024</text:h>' +
      '<text:p>The lease<office:annotation><dc:creator>Ada</dc:creator><dc:date>2024-01-02T00:00:00</dc:date><text:p>Too much?</text:p></office:annotation> ends in June <text:date>2024</text:date>.' +
      '<text:note text:note-class="endnote"><text:note-citation>i</text:note-citation><text:note-body><text:p>See the annex.</text:p></text:note-body></text:note></text:p>' +
      '<text:p><text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>とうきょう</text:ruby-text></text:ruby>に行く</text:p></c>',
    'styles.xml':
      '<s><text:p>Not shown</text:p><style:header><text:p>Confidential</text:p></style:header><style:footer-left><text:p>Rental office</text:p></style:footer-left></s>',
  });
  const RTF =
    "{\\rtf1\\ansi{\\header\\pard Confidential\\par}{\\footerr Rental office}{\\*\\generator x}\\pard The caf\\'e9{\\footnote\\pard The deposit is 42 euros.} is open." +
    '{\\*\\atnauthor Ada}{\\*\\annotation Too much?}\\par Second\\par}';
  const EPUB = archiveOf({
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': '<container><rootfile full-path="b.opf"/></container>',
    'b.opf':
      '<package><title>Lease</title><item id="c" href="c.xhtml"/><item id="d" href="d.xhtml"/><itemref idref="c"/><itemref idref="d"/></package>',
    'c.xhtml': '<html><body><h1>Rent</h1></body></html>',
    'd.xhtml':
      '<html><head><style>p{lease:1}</style></head><body><p>One.</p><p>The lease ends in June.</p></body></html>',
  });
  const HTML =
    '<!doctype html><title>t</title><script>var lease</script>\n<h1>Rent</h1>\n<p class="lease">The <ruby>東京<rt>とうきょう</rt></ruby> \n lease <b> ends</b>.</p>';
  const MAIL = [
    'From: a@example.com\nTo: b@example.com\nSubject: Keys\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b',
    'Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n',
    `${Buffer.from('The lease of the bakery\nends in June.\n').toString('base64')}\n--b`,
    'Content-Type: text/csv; name=t.csv\nContent-Disposition: attachment; filename=t.csv\n',
    'fruit,n\nquince,5\n--b--\n',
  ].join('\n');
  const notes = (text: string) =>
    `<p:notes><p:sp><p:ph type="sldNum"/><a:p><a:t>1</a:t></a:p></p:sp><p:sp><a:p><a:t>${text}</a:t></a:p></p:sp></p:notes>`;
  const PPTX = archiveOf({
    'ppt/presentation.xml': '<p:presentation><p:sldId r:id="r0"/></p:presentation>',
    'ppt/_rels/presentation.xml.rels': relationsOf('slides/one.xml'),
    'ppt/slides/one.xml':
      '<p:sld><p:sp><p:ph type="title"/><a:p><a:t>Prices</a:t></a:p></p:sp><mc:AlternateContent><mc:Choice><a:p><a:t>Lamps</a:t></a:p></mc:Choice><mc:Fallback><a:p><a:t>Lamps</a:t></a:p></mc:Fallback></mc:AlternateContent></p:sld>',
    'ppt/slides/_rels/one.xml.rels': relationsOf('../n/two.xml'),
    'ppt/n/two.xml': notes('Say the discount.'),
  });
  const ODP = openDocumentOf(
    'presentation',
    '<draw:page><text:p>Pri<office:annotation><text:p>Which?</text:p></office:annotation>ces</text:p><presentation:notes><text:p>Say the discount.</text:p></presentation:notes></draw:page><draw:page/>',
  );

  it.each<[string, string | Uint8Array, string]>([
    [
      'a.docx',
      WITH_ASIDES,
      'Body text\n[footnote 1] The deposit is 42 euros.\n[endnote 1] See the annex.\n[header] Confidential\n[footer] Rental office\n[comment 1] Ada: Too much?\n[comment 1] Ask.',
    ],
    [
      'a.odt',
      ODT,
      'Rent of 2024\n[footnote 1] The deposit is 42 euros.\nThe lease ends in June 2024.\n[comment 1] Ada: Too much?\n[endnote 1] See the annex.\n東京に行く\n[header] Confidential\n[footer] Rental office',
    ],
    [
      'a.rtf',
      RTF,
      '[header] Confidential\n[footer] Rental office\nThe café is open.\n[footnote 1] The deposit is 42 euros.\n[comment 1] Ada: Too much?\nSecond',
    ],
    ['a.epub', EPUB, 'Rent\nOne.\nThe lease ends in June.'],
    ['a.html', HTML, 'Rent\nThe 東京 lease ends.'],
    [
      'a.eml',
      MAIL,
      '[header] Subject: Keys\n[header] From: a@example.com\n[header] To: b@example.com\nThe lease of the bakery\nends in June.\nfruit,n\nquince,5',
    ],
    ['a.pptx', PPTX, 'Prices\nLamps\n[notes] Say the discount.'],
    ['a.odp', ODP, 'Prices\nWhich?\n[notes] Say the discount.'],
  ])('is as text what a person reads, and what is beside it: %s', async (name, content, text) => {
    const answer = `### \`${name}\`\n\n\`\`\`text\n${text}\n\`\`\``;
    expect(await ask('text', name, content)).toBe(`${answer}\n\n`);
    expect(await handler.textOf(filePart(name, content), contextOf())).toBe(answer);
  });

  it.each<[string, string, string | Uint8Array, string]>([
    ['deposit', 'a.docx', WITH_ASIDES, 'footnote 1: `The deposit is 42 euros.`'],
    ['annex', 'a.docx', WITH_ASIDES, 'endnote 1: `See the annex.`'],
    ['confidential', 'a.docx', WITH_ASIDES, 'header: `Confidential`'],
    ['lease', 'a.odt', ODT, 'paragraph 2: `The lease ends in June 2024.`'],
    ['rental', 'a.odt', ODT, 'footer: `Rental office`'],
    ['café', 'a.rtf', RTF, 'paragraph 1: `The café is open.`'],
    ['lease', 'a.epub', EPUB, 'document 2, paragraph 2: `The lease ends in June.`'],
    ['lease', 'a.html', HTML, 'line 3: `The 東京 lease ends.`'],
    ['bakery', 'a.eml', MAIL, 'line 1: `The lease of the bakery`'],
    ['quince', 'a.eml', MAIL, 'entry `t.csv`, line 2: `quince,5`'],
    ['discount', 'a.pptx', PPTX, 'slide 1, notes: `Say the discount.`'],
    ['discount', 'a.odp', ODP, 'slide 1, notes: `Say the discount.`'],
  ])('is found by %s in %s, with the place', async (word, name, content, place) => {
    expect(await ask(`find ${word}`, name, content)).toBe(
      `1 passage with \`${word}\`:\n\n1. \`${name}\`, ${place}\n\n`,
    );
  });

  it('has an outline of its headings, whatever its format is', async () => {
    expect(await ask('outline', 'a.odt', ODT)).toContain('- `Rent of 2024`');
    expect(await ask('outline', 'a.html', HTML)).toContain('- `Rent`');
    expect(await ask('outline', 'a.epub', EPUB)).toContain('- `Rent`');
  });

  it('with slides is shown slide by slide, with the notes', async () => {
    expect(await ask('page 1', 'a.pptx', PPTX)).toContain('Prices\nLamps\n\n[notes] Say the discount.\n```');
    expect(await ask('page 1', 'a.odp', ODP)).toContain(
      '**Slide 1 of 2**\n\n```text\nPrices\nWhich?\n\n[notes] Say the discount.\n```',
    );
  });

  it('in an e-mail is named where a statement finds no table', async () => {
    expect(await ask('select * from t', 'a.eml', MAIL)).toContain('send their files');
    expect(await ask('entry t.csv', 'a.eml', MAIL)).toContain('fruit,n\nquince,5');
  });

  it('has how many footnotes, headers and so on there are in its description', async () => {
    const WORDS = '2 words in 1 paragraph. 1 footnote. 1 endnote. 1 header. 1 footer. 1 comment.';
    expect(await describedBy(handler, 'a.docx', WITH_ASIDES)).toContain(WORDS);
  });

  it.each([
    [
      'with a text box, which older programs have a second time',
      '<w:p><w:r><w:t>Before.</w:t></w:r><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>PARAGRAPH</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>PARAGRAPH</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>After.</w:t></w:r></w:p>',
      'Before.\nBoxed words\nAfter.',
      4,
    ],
    [
      'with a sentence that was moved',
      '<w:p><w:moveFrom><w:r><w:t>Moved words.</w:t></w:r></w:moveFrom><w:r><w:t>Stays.</w:t></w:r></w:p><w:p><w:moveTo><w:r><w:t>Moved words.</w:t></w:r></w:moveTo></w:p>',
      'Stays.\nMoved words.',
      3,
    ],
    [
      'with hyphens and line breaks',
      '<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>pages 10</w:t><w:noBreakHyphen/><w:t>24, line</w:t><w:cr/><w:t>break, out</w:t><w:softHyphen/><w:t>side</w:t></w:r></w:p>',
      'pages 10-24, line break, outside',
      5,
    ],
    [
      'with readings of characters',
      '<w:p><w:r><w:ruby><w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase></w:ruby></w:r><w:r><w:t>に行く</w:t></w:r></w:p>',
      '東京に行く',
      1,
    ],
  ])('of Word %s has each word once', async (_, body, text, words) => {
    const file = docxOf(body.replaceAll('PARAGRAPH', paragraph('Boxed words')));
    expect(await ask('text', 'a.docx', file)).toContain(`\`\`\`text\n${text}\n\`\`\``);
    const answer = await describedBy(handler, 'a.docx', file);
    expect(answer).toContain(`text\n${text}\n`);
    expect(answer).toMatch(new RegExp(`\\b${words} words? in`));
  });

  it('is found to its end, however long a paragraph of it is', async () => {
    const long = `${'word '.repeat(50_000)}quince`;
    for (const [name, content] of [
      ['a.txt', long],
      ['a.docx', docxOf(paragraph(long))],
      ['a.html', `<p>${long}</p>`],
    ] as const)
      expect(await ask('find quince', name, content)).toContain('1 passage with `quince`');
  });

  it('says how far it was read where words are looked for', async () => {
    const long = 'no such text here\n'.repeat(1_000_000);
    expect(await ask('find quince', 'a.txt', `${long}quince`)).toBe(
      '`quince` was not found in 1 file.\n\n`a.txt`: only the first 16,777,216 characters were read.\n\n',
    );
  });

  it('without attachments has no entries', async () => {
    const mail = 'From: a@example.com\nTo: b@example.com\nDate: x\n\nThe lease ends.\n';
    expect(await ask('outline', 'a.eml', mail)).toBe('This file has no outline.\n\n');
    expect(await ask('select * from a', 'a.eml', mail)).toMatch(/^There are no tables in this file\. /);
    const archive = zipOf([['m/a.eml', Buffer.from(MAIL)]]);
    expect(await ask('find bakery', 'a.zip', archive)).toContain('entry `m/a.eml`, line 1');
    expect(await ask('find quince', 'a.zip', archive)).toContain('entry `m/a.eml/t.csv`, line 2');
  });
});
