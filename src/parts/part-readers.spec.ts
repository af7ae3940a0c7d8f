import 'reflect-metadata';
import { queryOf } from '../testing/index.js';
import type { FilePart } from '../query/index.js';
import {
  fileBytes,
  fileDataUrl,
  fileText,
  fileType,
  isImageFile,
  isTextFile,
  MAX_READ_BYTES,
  newestText,
} from './part-readers.js';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
/** The beginning of an old Excel file. */
const XLS = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(600)]);
const LATIN = Buffer.from('caf\xe9', 'latin1');
const UTF16 = Buffer.from('\ufeffcafé', 'utf16le');

async function partOf(mimeType: string, content: string | Uint8Array): Promise<FilePart> {
  const [part] = (await queryOf({ name: 'a', mimeType, content })).parts;
  return part as FilePart;
}

describe('A file part', () => {
  it('that is Windows-1252 has its quotation marks', async () => {
    const bytes = Buffer.from('\x93Hi\x94 \x80', 'latin1');
    for (const type of ['text/plain', 'text/plain; charset=windows-1252'])
      expect(await fileText(await partOf(type, bytes))).toBe('“Hi” €');
  });

  it.each([
    ['image/png', PNG, 'image/png', 'image'],
    ['Image/PNG; a=b', PNG, 'image/png', 'image'],
    ['application/octet-stream', PNG, 'image/png', 'image'],
    ['application/pdf', PNG, 'image/png', 'image'],
    ['image/svg+xml', '<svg/>', 'image/svg+xml', 'image, text'],
    ['text/csv', 'a,b', 'text/csv', 'text'],
    ['application/vnd.api+json', '{}', 'application/vnd.api+json', 'text'],
    ['application/octet-stream', '# Notes', 'application/octet-stream', 'text'],
    ['application/octet-stream', LATIN, 'application/octet-stream', ''],
    ['text/plain', LATIN, 'text/plain', 'text'],
    ['text/plain', UTF16, 'text/plain', 'text'],
    ['text/plain', Buffer.from([1, 0, 2]), 'text/plain', ''],
    ['application/vnd.ms-excel', 'a;b', 'application/vnd.ms-excel', 'text'],
    ['application/vnd.ms-excel', XLS, 'application/vnd.ms-excel', ''],
    ['application/octet-stream', 'é'.repeat(4096), 'application/octet-stream', 'text'],
    ['video/mp4', 'no video', 'video/mp4', ''],
  ])('%s (%j) is of the type %s: %s', async (mimeType, content, type, kinds) => {
    const part = await partOf(mimeType, content);
    const found = [(await isImageFile(part)) && 'image', (await isTextFile(part)) && 'text'];
    expect([await fileType(part), found.filter(Boolean).join(', ')]).toEqual([type, kinds]);
  });

  it.each([
    ['UTF-8', 'text/plain', Buffer.from('café')],
    ['UTF-8 with a byte order mark', 'text/plain', Buffer.from('\ufeffcafé')],
    ['UTF-16 with a byte order mark', 'text/plain', UTF16],
    ['UTF-16 without one, as its type states', 'text/plain; charset=utf-16le', UTF16.subarray(2)],
    ['Latin-1, as its type states', 'text/plain; charset="ISO-8859-1"', LATIN],
    ['Latin-1', 'text/plain', LATIN],
    ['UTF-8, where its type states an unknown encoding', 'text/plain; charset=klingon', Buffer.from('café')],
  ])('has a text in %s', async (_, mimeType, content) => {
    expect(await fileText(await partOf(mimeType, content))).toBe('café');
  });

  it('has bytes and a data URL', async () => {
    const part = await partOf('application/octet-stream', PNG);
    expect(await fileBytes(part)).toEqual(PNG);
    const url = await fileDataUrl(part);
    expect(url).toBe(`data:image/png;base64,${PNG.toString('base64')}`);
    expect(Buffer.from(await (await fetch(url)).arrayBuffer())).toEqual(PNG);
  });

  it.each([fileBytes, fileText, fileDataUrl])('is refused above a limit: %p', async (read) => {
    const part = await partOf('text/plain', 'Hello');
    expect(await read(part, 5)).toBeDefined();
    await expect(read(part, 4)).rejects.toMatchObject({
      code: 'limit_exceeded',
      detail: 'The file "a" has 5 bytes. The agent reads files of up to 4 bytes.',
    });
    const large = await partOf('text/plain', Buffer.alloc(MAX_READ_BYTES + 1));
    await expect(read(large)).rejects.toMatchObject({ code: 'limit_exceeded' });
  });
});

describe('The newest text of a query', () => {
  it('is that of the last text part', async () => {
    expect(newestText(await queryOf(['a', 'b', { name: 'c', content: 'c' }]))).toBe('b');
    expect(newestText(await queryOf({ name: 'c', content: 'c' }))).toBe('');
  });
});
