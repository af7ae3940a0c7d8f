import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { openDocumentOf, zipOf } from '../../../test/support/hostile-files.mjs';
import { FilesHandler } from './index.js';

const archiveOf = (entries: Record<string, string>) =>
  zipOf(Object.entries(entries).map(([name, content]) => [name, Buffer.from(content)]));
const relationsOf = (targets: string[]) =>
  `<Relationships>${targets.map((target, at) => `<Relationship Id="r${at}" Type="x" Target="${target}"/>`).join('')}</Relationships>`;
const paragraphOf = (text: string) => `<a:p><a:r><a:t>${text}</a:t></a:r></a:p>`;

const SERIES =
  '<c:ser><c:cat><c:strCache><c:pt><c:v>Oslo</c:v></c:pt></c:strCache></c:cat><c:val><c:numCache><c:pt><c:v>5</c:v></c:pt></c:numCache></c:val></c:ser>';
const DRAWINGS = {
  chart: `<c:chartSpace><c:title>${paragraphOf('Sales')}</c:title>${SERIES}${SERIES}</c:chartSpace>`,
  diagram: `<dgm:dataModel><dgm:pt><dgm:t>${paragraphOf('Plan')}</dgm:t></dgm:pt></dgm:dataModel>`,
};

describe('The text of office documents', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (request: string, name: string, content: Buffer) =>
    answerOf(handler, [filePart(name, content), request]);
  const docxOf = (body: string, others: Record<string, string> = {}) =>
    archiveOf({ 'word/document.xml': `<w:document><w:body>${body}</w:body></w:document>`, ...others });

  function pptxOf(slide: string, others: Record<string, string> = {}, attribute = ''): Buffer {
    return archiveOf({
      'ppt/presentation.xml': '<p:presentation><p:sldId r:id="r0"/></p:presentation>',
      'ppt/_rels/presentation.xml.rels': relationsOf(['slides/s.xml']),
      'ppt/slides/s.xml': `<p:sld ${attribute}>${slide}</p:sld>`,
      ...others,
    });
  }

  it('has the tables and pictures that follow the number of a slide', async () => {
    const slide =
      `<p:sp><p:ph type="title"/>${paragraphOf('Head')}</p:sp><p:sp><p:ph type="sldNum"/>${paragraphOf('7')}</p:sp>` +
      `<p:graphicFrame><a:tbl>${paragraphOf('Cell')}</a:tbl></p:graphicFrame>`;
    for (const request of ['text', 'page 1'])
      expect(await ask(request, 'a.pptx', pptxOf(slide))).toContain('\nHead\nCell\n');
    expect(await ask('describe', 'a.pptx', pptxOf(slide))).toContain('1 slide, 2 words.');
  });

  it('has diagrams, charts and comments of slides, and names hidden slides', async () => {
    const file = pptxOf(
      `<p:sp>${paragraphOf('Head')}</p:sp>`,
      {
        'ppt/slides/_rels/s.xml.rels': relationsOf(['../chart.xml', '../diagram.xml', '../comments.xml']),
        'ppt/chart.xml': DRAWINGS.chart,
        'ppt/diagram.xml': DRAWINGS.diagram,
        'ppt/comments.xml': '<p:cmLst><p:cm><p:text>Remark</p:text></p:cm></p:cmLst>',
      },
      'show="0"',
    );
    expect(await ask('page 1', 'a.pptx', file)).toContain('\nHead\nSales\nOslo\nPlan\n\n[notes] Remark\n');
    expect(await ask('describe', 'a.pptx', file)).toContain('1 slide, 4 words.\n\n1. `Head` (hidden)\n');
  });

  it('has diagrams, charts and signs of Word, and says what it leaves out', async () => {
    const run = (content: string) => `<w:r>${content}</w:r>`;
    const body =
      `<w:p>${run('<w:t>A </w:t><w:sym w:font="Symbol" w:char="F061"/><w:sym w:font="Wingdings" w:char="F0FC"/>')}` +
      `${run('<w:rPr><w:vanish/></w:rPr><w:t>secret</w:t>')}${run('<w:rPr><w:vanish w:val="0"/></w:rPr><w:t>.</w:t>')}</w:p><w:altChunk/>`;
    const file = docxOf(body, {
      'word/_rels/document.xml.rels': relationsOf(['chart.xml', 'diagram.xml']),
      'word/chart.xml': DRAWINGS.chart,
      'word/diagram.xml': DRAWINGS.diagram,
    });
    expect(await ask('text', 'a.docx', file)).toContain(
      '```text\nA α✓.\nSales\nOslo\nPlan\n```\n\nHidden text is left out.\n\nA file that is inserted into this document as a whole is left out.',
    );
  });

  it('has no descriptions and bytes of pictures of OpenDocument', async () => {
    const picture =
      '<draw:frame><draw:image><office:binary-data>iVBOR</office:binary-data></draw:image><svg:title>Logo</svg:title><svg:desc>Alt</svg:desc></draw:frame>';
    const file = openDocumentOf('text', `<text:p>One${picture} <text:title>two</text:title></text:p>`);
    expect(await ask('text', 'a.odt', file)).toContain('```text\nOne two\n```');
  });

  it.each([
    ['graphics', '**OpenDocument drawing**'],
    ['text-master', '**OpenDocument text**'],
    ['text-web', '**OpenDocument text**'],
  ])('is read of OpenDocument of the kind %s', async (kind, title) => {
    const file = archiveOf({
      mimetype: `application/vnd.oasis.opendocument.${kind}`,
      'content.xml': '<office:document-content><text:p>Label</text:p></office:document-content>',
    });
    expect(await ask('describe', 'a.odg', file)).toContain(title);
    expect(await ask('find "label"', 'a.odg', file)).toContain('1 passage with `label`');
  });

  it('has comments on cells and text boxes of sheets', async () => {
    const file = archiveOf({
      'xl/workbook.xml': '<workbook><sheets><sheet name="Data" r:id="r0"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels': relationsOf(['s.xml']),
      'xl/s.xml':
        '<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>Rome</t></is></c></row></sheetData></worksheet>',
      'xl/_rels/s.xml.rels': relationsOf(['any.xml', 'drawing.xml']),
      'xl/any.xml':
        '<comments><authors><author>Ann</author></authors><commentList><comment ref="A1" authorId="0"><text><r><t>Not </t></r><r><t>Paris</t></r></text></comment></commentList></comments>',
      'xl/drawing.xml': `<xdr:wsDr>${paragraphOf('Boxed')}</xdr:wsDr>`,
    });
    expect(await ask('text', 'a.xlsx', file)).toContain(
      '```text\nRome\n[comment 1] Ann: Not Paris\nBoxed\n```',
    );
    expect(await ask('find "Paris"', 'a.xlsx', file)).toContain('`a.xlsx`, sheet `Data`, comment 1: ');
    const open = openDocumentOf(
      'spreadsheet',
      '<table:table table:name="S"><table:table-row><table:table-cell><office:annotation><dc:creator>Ann</dc:creator><text:p>Remark</text:p></office:annotation>' +
        '<text:p>Rome</text:p></table:table-cell></table:table-row></table:table>',
    );
    expect(await ask('text', 'a.ods', open)).toContain('```text\nRome\n[comment 1] Ann: Remark\n```');
  });
});
