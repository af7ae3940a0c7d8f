import { tarOf } from '../../../../test/support/hostile-files.mjs';
import { TarReader } from './tar-reader.js';

async function* chunksOf(content: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < content.length; start += size) yield content.subarray(start, start + size);
}

async function entriesOf(content: Buffer, size = 700) {
  const entries = [];
  for await (const entry of new TarReader(chunksOf(content, size)).entries()) entries.push(entry);
  return entries;
}

/** An entry with contents that fill whole blocks. */
function entry(name: string, type: string, content: string): Buffer {
  const length = Buffer.byteLength(content);
  const size = `${length.toString(8).padStart(11, '0')}\0`;
  const padded = Buffer.alloc(Math.ceil(length / 512) * 512);
  padded.write(content);
  return Buffer.concat([tarOf({ name, type, size, blocks: 0 }), padded]);
}

function withByte(header: Buffer, offset: number, bytes: string): Buffer {
  const changed = Buffer.from(header);
  changed.write(bytes, offset, 'latin1');
  return changed;
}

/** Writes the sum of a header again, of signed bytes if asked. */
function summed(header: Buffer, isSigned = false): Buffer {
  header.fill(' ', 148, 156);
  const sum = header
    .subarray(0, 512)
    .reduce((all, byte) => all + (isSigned && byte > 127 ? byte - 256 : byte), 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

const END = Buffer.alloc(1024);

describe('TarReader', () => {
  it('reads the same from chunks of any size', async () => {
    const archive = Buffer.concat([entry('a', '0', 'text'), entry('b/', '5', ''), entry('c', '2', ''), END]);
    const expected = [
      { name: 'a', kind: 'file', size: 4, stored: 4, isSparse: false },
      { name: 'b/', kind: 'folder', size: 0, stored: 0, isSparse: false },
      { name: 'c', kind: 'link', size: 0, stored: 0, isSparse: false },
    ];
    for (const size of [1, 511, 512, 513, 10_000]) expect(await entriesOf(archive, size)).toEqual(expected);
  });

  it('takes long names and sizes from the headers before an entry', async () => {
    const long = 'n'.repeat(300);
    const archive = Buffer.concat([
      entry('././@LongLink', 'L', `${long}\0`),
      entry('short', '0', 'text'),
      entry('pax', 'x', '13 path=ümlaut\n'.replace('13', '16')),
      entry('other', '0', ''),
      entry('global', 'g', '20 GNU.sparse.size=9\n'.replace('20', '21')),
      entry('sparse', '0', ''),
      END,
    ]);
    expect((await entriesOf(archive)).map(({ name, size }) => [name, size])).toEqual([
      [long, 4],
      ['ümlaut', 0],
      ['sparse', 9],
    ]);
  });

  it('accepts sums of signed bytes, names in a legacy encoding, and fields of no meaning here', async () => {
    const name = withByte(entry('umlaut-?', '0', ''), 7, '\xe4');
    const owner = withByte(entry('owner', '0', ''), 108, 'no owner');
    const archive = Buffer.concat([summed(name, true), summed(owner), END]);
    expect((await entriesOf(archive)).map((each) => each.name)).toEqual(['umlaut-ä', 'owner']);
  });

  it.each([
    ['a wrong sum', withByte(entry('a', '0', ''), 0, 'b')],
    ['a size that is no number', summed(withByte(entry('a', '0', ''), 124, 'not a number'))],
    ['a header that is cut off', entry('a', '0', '').subarray(0, 300)],
    ['contents that are cut off', entry('a', '0', 'text').subarray(0, 514)],
  ])('refuses %s', async (_what, archive) => {
    await expect(entriesOf(archive)).rejects.toThrow('This tar archive is broken or cut off.');
  });

  it('tells whether the mark at the end is there', async () => {
    for (const [archive, hasEnd] of [
      [Buffer.concat([entry('a', '0', ''), END]), true],
      [entry('a', '0', ''), false],
    ] as const) {
      const reader = new TarReader(chunksOf(archive, 512));
      for await (const each of reader.entries()) expect(each.name).toBe('a');
      expect(reader.hasEnd).toBe(hasEnd);
    }
  });

  it('decodes names that are not UTF-8 as it is declared, and guesses else', async () => {
    // `Отчёт за год.txt` in KOI8-R.
    const name = Buffer.from('efd4dea3d420dac120c7cfc42e747874', 'hex').toString('latin1');
    const header = tarOf({ name: 'a', type: '0', size: '00000000000\0', blocks: 0 });
    const archive = Buffer.concat([summed(withByte(header, 0, name)), END]);
    for (const [mimeType, notes] of [
      ['application/x-tar; charset=koi8-r', 0],
      ['application/x-tar', 1],
    ] as const) {
      const reader = new TarReader(chunksOf(archive, 512), mimeType);
      const names = [];
      for await (const entry of reader.entries()) names.push(entry.name);
      expect(names).toEqual(['Отчёт за год.txt']);
      expect(reader.notes).toHaveLength(notes);
    }
  });
});
