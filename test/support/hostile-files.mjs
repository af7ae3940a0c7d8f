/** Files that harm a service that parses them carelessly. They are small, or stand for large ones. */
import { Buffer } from 'node:buffer';
import { crc32, createDeflateRaw, deflateRawSync, deflateSync } from 'node:zlib';

/** A PDF of one page, whose content has been compressed so many times. `pages` is how many pages it states. */
export function pdfOf(content, times = 1, pages = 1) {
  let stream = Buffer.from(content);
  for (let time = 0; time < times; time++) stream = deflateSync(stream);
  const font = '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>';
  return Buffer.concat([
    Buffer.from(
      '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n' +
        `2 0 obj<</Type/Pages/Kids[3 0 R]/Count ${pages}>>endobj\n` +
        `3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F1 ${font}>>>>>>endobj\n` +
        `4 0 obj<</Length ${stream.length}/Filter[${'/FlateDecode'.repeat(times)}]>>stream\n`,
    ),
    stream,
    Buffer.from('\nendstream endobj\ntrailer<</Size 5/Root 1 0 R>>\n%%EOF'),
  ]);
}

/** A PDF of 21 kB with one string of 20 MB: V8 ends the whole process that reads it. */
export function longStringPdf() {
  return pdfOf(
    Buffer.concat([Buffer.from('BT /F1 12 Tf ('), Buffer.alloc(20_000_000, 'a'), Buffer.from(') Tj ET')]),
  );
}

/** A PDF of 100 kB whose text takes more memory the longer it is read. */
export function greedyPdf(length = 50_000_000) {
  return pdfOf(
    Buffer.concat([Buffer.from('BT /F1 12 Tf '), Buffer.alloc(length, '(Hello) Tj '), Buffer.from('ET')]),
  );
}

/** A Word document of 6 MB with 2.8 million attributes on one tag: V8 ends the whole process that keeps them. */
export function attributesDocx(count = 2_800_000) {
  const names = Array.from({ length: count }, (_, index) => `a${index.toString(36)}=""`);
  return zipOf([['word/document.xml', Buffer.from(`<w:document ${names.join(' ')}/>`)]]);
}

/** A Word document of so many paragraphs, which takes seconds to read. */
export function longDocx(paragraphs = 1_500_000) {
  const paragraph = '<w:p><w:r><w:t>word word</w:t></w:r></w:p>';
  const text = Buffer.alloc(paragraphs * paragraph.length, paragraph);
  const document = [Buffer.from('<w:document><w:body>'), text, Buffer.from('</w:body></w:document>')];
  return zipOf([['word/document.xml', Buffer.concat(document)]]);
}

/** A text of 211 bytes for which a careless search for the root of an SVG image takes exponential time. */
export function commentsText() {
  return Buffer.from(`${'<!---->'.repeat(30)}x`);
}

/** An archive of so many empty files. */
export function crowdedZip(entries) {
  return zipOf(Array.from({ length: entries }, (_, index) => [`file-${index}`, Buffer.alloc(0)]));
}

/** An Excel workbook with one sheet of so many rows of ten numbers. */
export async function xlsxOf(rows) {
  const hash = { crc: 0, size: 0 };
  const deflate = createDeflateRaw({ level: 1 });
  const packed = [];
  deflate.on('data', (chunk) => packed.push(chunk));
  const write = async (text) => {
    const bytes = Buffer.from(text);
    hash.crc = crc32(bytes, hash.crc);
    hash.size += bytes.length;
    if (!deflate.write(bytes)) await new Promise((resolve) => deflate.once('drain', resolve));
  };
  await write(`<worksheet><dimension ref="A1:J${rows}"/><sheetData>`);
  for (let row = 1; row <= rows;) {
    let text = '';
    for (let end = Math.min(rows, row + 999); row <= end; row++) {
      text += `<row r="${row}">`;
      for (const column of 'ABCDEFGHIJ') text += `<c r="${column}${row}"><v>${row}</v></c>`;
      text += '</row>';
    }
    await write(text);
  }
  await write('</sheetData></worksheet>');
  await new Promise((resolve) => deflate.end(resolve));
  const workbook = '<workbook><sheets><sheet name="Data" sheetId="1" r:id="rId1"/></sheets></workbook>';
  const relations = '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>';
  return zipOf([
    ['xl/workbook.xml', Buffer.from(workbook)],
    ['xl/_rels/workbook.xml.rels', Buffer.from(relations)],
    ['xl/worksheets/sheet1.xml', { packed: Buffer.concat(packed), ...hash }],
  ]);
}

/**
 * A ZIP file.
 *
 * @param entries names and contents; a content may be packed already
 * @param claimed the unpacked size that is stated of each entry, if it is not the true one
 */
export function zipOf(entries, claimed) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [name, content] of entries) {
    const { packed, crc, size } = Buffer.isBuffer(content)
      ? { packed: deflateRawSync(content), crc: crc32(content), size: content.length }
      : content;
    const header = Buffer.alloc(26);
    header.writeUInt16LE(20, 0);
    header.writeUInt16LE(8, 4);
    header.writeUInt32LE(crc, 10);
    header.writeUInt32LE(packed.length, 14);
    header.writeUInt32LE(claimed ?? size, 18);
    header.writeUInt16LE(name.length, 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    parts.push(Buffer.from('PK\x03\x04'), header, Buffer.from(name), packed);
    directory.push(Buffer.from('PK\x01\x02\x14\0'), header, rest, Buffer.from(name));
    offset += 30 + name.length + packed.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, listed, end]);
}

/** An OpenDocument file whose content is this XML. */
export function openDocumentOf(kind, content) {
  return zipOf([
    ['mimetype', Buffer.from(`application/vnd.oasis.opendocument.${kind}`)],
    ['content.xml', Buffer.from(content)],
  ]);
}

/** The header of a tar archive, and blocks after it. `size` is written as it is, so that it may be a lie. */
export function tarOf({ name = 'a', type = '0', size = '00000000000\0', blocks = 2 }) {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(size, 124, 'latin1');
  header.write(type, 156);
  header.write('ustar\x0000', 257, 'latin1');
  header.fill(' ', 148, 156);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([header, Buffer.alloc(blocks * 512)]);
}

/** An archive of archives of archives, and so on; each has so many. */
export function nestedZip(levels, width) {
  let archive = zipOf([['a.txt', Buffer.from('text')]]);
  for (let level = 0; level < levels; level++) {
    archive = zipOf(Array.from({ length: width }, (_, index) => [`${index}.zip`, archive]));
  }
  return archive;
}

/** An e-mail whose parts are inside one another. */
export function nestedMail(levels) {
  let text = 'From: a@example.org\nTo: b@example.org\nSubject: nested\nMIME-Version: 1.0\n';
  for (let level = 0; level < levels; level++) {
    text += `Content-Type: multipart/mixed; boundary=b${level}\n\n--b${level}\n`;
  }
  return `${text}\ntext\n`;
}
