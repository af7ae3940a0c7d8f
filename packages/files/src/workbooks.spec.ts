import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { openDocumentOf, zipOf } from '../../../test/support/hostile-files.mjs';
import { FilesHandler } from './index.js';

const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const TYPES = 'application/vnd.openxmlformats-officedocument';

/** Relationships of a part, each with its type and its target. */
function relationships(...all: [type: string, target: string][]): string {
  const each = all.map(
    ([type, target], index) =>
      `<Relationship Id="rId${index + 1}" Type="${RELATIONSHIPS}/${type}" Target="${target}"/>`,
  );
  return `<Relationships>${each.join('')}</Relationships>`;
}

function contentType(part: string, type: string): string {
  return `<Types><Override PartName="/${part}" ContentType="${TYPES}.${type}.main+xml"/></Types>`;
}

function zip(parts: Record<string, string>): Buffer {
  return zipOf(Object.entries(parts).map(([name, content]) => [name, Buffer.from(content)]));
}

/** Cells that are `1.5`, `text`, or an element with all that belongs to it. */
function row(...cells: (number | string)[]): string {
  return `<row>${cells
    .map((cell) => {
      if (typeof cell === 'number') return `<c><v>${cell}</v></c>`;
      return cell.startsWith('<') ? cell : `<c t="inlineStr"><is><t>${cell}</t></is></c>`;
    })
    .join('')}</row>`;
}

/** The parts of a workbook with one sheet, `S`. */
function bookParts(
  rows: string[],
  others: Record<string, string> = {},
  afterRows = '',
): Record<string, string> {
  return {
    'xl/workbook.xml': `<workbook xmlns:r="${RELATIONSHIPS}"><sheets><sheet name="S" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships(
      ['worksheet', 'worksheets/sheet1.xml'],
      ['styles', 'styles.xml'],
      ['sharedStrings', 'sharedStrings.xml'],
    ),
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows.join('')}</sheetData>${afterRows}</worksheet>`,
    ...others,
  };
}

describe('Workbooks', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const describeOne = (name: string, content: Uint8Array) => answerOf(handler, [filePart(name, content)]);
  const ask = (statement: string, name: string, content: Uint8Array) =>
    answerOf(handler, [filePart(name, content), statement]);

  describe('are found by what their parts say', () => {
    const ROWS = [row('city'), row('Rome')];

    it('whatever the prefix of an attribute is', async () => {
      const parts = bookParts(ROWS);
      parts['xl/workbook.xml'] =
        `<workbook xmlns:rel="${RELATIONSHIPS}"><sheets><sheet name="S" id="1" rel:id="rId1"/></sheets></workbook>`;
      expect(await describeOne('a.xlsx', zip(parts))).toContain('Sheet `S`: 2 rows × 1 column.');
      const uri = (name: string) => `urn:oasis:names:tc:opendocument:xmlns:${name}:1.0`;
      const content = `<document xmlns:t="${uri('table')}" xmlns:o="${uri('office')}"><t:table t:name="S"><t:table-row><t:table-cell o:value-type="float" o:value="7" t:number-columns-repeated="3"/></t:table-row></t:table></document>`;
      expect(await describeOne('a.ods', openDocumentOf('spreadsheet', content))).toContain(
        'Sheet `S`: 1 row × 3 columns.\n\n| `7` | `7` | `7` |',
      );
    });

    it('whatever the name of a part is, and its case', async () => {
      const parts: Record<string, string> = {
        '_rels/.rels': relationships(['officeDocument', '/xl/Workbook2.xml']),
        '[Content_Types].xml': contentType('xl/workbook2.xml', 'spreadsheetml.sheet'),
      };
      for (const [name, content] of Object.entries(bookParts(ROWS))) {
        parts[name.replace('workbook.xml', 'workbook2.xml').replace('sheet1', 'Sheet1')] = content;
      }
      expect(await describeOne('a.xlsx', zip(parts))).toContain('Sheet `S`: 2 rows × 1 column.');
      expect(await ask('select city from a_s', 'a.xlsx', zip(parts))).toContain('| `Rome` |');
      const document = {
        '_rels/.rels': relationships(['officeDocument', 'word/document2.xml']),
        '[Content_Types].xml': contentType('word/document2.xml', 'wordprocessingml.document'),
        'word/document2.xml': '<document><p><r><t>Written in a browser.</t></r></p></document>',
      };
      expect(await describeOne('a.docx', zip(document))).toContain('```text\nWritten in a browser.\n```');
      expect(await ask('text', 'a.docx', zip(document))).toContain('Written in a browser.');
      const slides = {
        '_rels/.rels': relationships(['officeDocument', 'ppt/presentation2.xml']),
        '[Content_Types].xml': contentType('ppt/presentation2.xml', 'presentationml.presentation'),
        'ppt/presentation2.xml': `<presentation xmlns:rel="${RELATIONSHIPS}"><sldId id="256" rel:id="rId1"/><sldId id="257" rel:id="rId2"/></presentation>`,
        'ppt/_rels/presentation2.xml.rels': relationships(
          ['slide', 'slides/one.xml'],
          ['slide', 'slides/two.xml'],
        ),
        'ppt/slides/One.xml': '<sld><p><t>Hello</t></p></sld>',
      };
      expect(await describeOne('a.pptx', zip(slides))).toContain(
        '2 slides, 1 word.\n\n1. `Hello`\n2. (missing in this file)',
      );
      expect(await ask('page 1', 'a.pptx', zip(slides))).toContain('Hello');
    });

    it('and say what is missing', async () => {
      const { 'xl/worksheets/sheet1.xml': _missing, ...parts } = bookParts(ROWS);
      expect(await describeOne('a.xlsx', zip(parts))).toContain(
        'Sheet `S`: its part is missing in this file.',
      );
      const document = {
        '_rels/.rels': relationships(['officeDocument', 'word/document2.xml']),
        '[Content_Types].xml': contentType('word/document2.xml', 'wordprocessingml.document'),
      };
      expect(await describeOne('a.docx', zip(document))).toContain(
        'This Word document is broken: its main part `word/document2.xml` is missing.',
      );
    });
  });
});
