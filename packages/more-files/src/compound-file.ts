import type { FileBytes } from './file-bytes.js';

const SIGNATURE = 'd0cf11e0a1b11ae1';
/** Where the header has its fields, and bytes of an entry of the directory (MS-CFB 2.2, 2.6.1). */
const SECTOR_SHIFT = 30;
const FIRST_DIRECTORY_SECTOR = 48;
const FIRST_FAT_SECTORS = 76;
const HEADER = 512;
const ENTRY = 128;
const STREAM = 2;
/** Sectors of a directory that are read. */
const MOST_SECTORS = 256;

/** The names of the streams in the root of a compound file, and not of those in its folders; none if it is no such file. */
export async function rootStreams(file: FileBytes, head: Uint8Array): Promise<string[]> {
  const header = Buffer.from(head.subarray(0, HEADER));
  if (header.length < HEADER || header.toString('hex', 0, 8) !== SIGNATURE) return [];
  const directory = await directoryOf(file, header);
  const names: string[] = [];
  const seen = new Set<number>();
  // The children of the root are a tree; the root is the first entry.
  const waiting = [directory.length < ENTRY ? -1 : directory.readInt32LE(76)];
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    const at = entry * ENTRY;
    if (at < 0 || at + ENTRY > directory.length || seen.has(entry)) continue;
    seen.add(entry);
    const end = at + Math.min(64, Math.max(2, directory.readUInt16LE(at + 64))) - 2;
    if (directory[at + 66] === STREAM) names.push(directory.toString('utf16le', at, end));
    waiting.push(directory.readInt32LE(at + 68), directory.readInt32LE(at + 72));
  }
  return names;
}

async function directoryOf(file: FileBytes, header: Buffer): Promise<Buffer> {
  const size = 2 ** Math.min(12, Math.max(9, header.readUInt16LE(SECTOR_SHIFT)));
  const read = async (sector: number, from: number, to: number) => {
    const start = (sector + 1) * size;
    return Buffer.from(await file.read(Math.min(file.size, start + from), Math.min(file.size, start + to)));
  };
  const parts: Buffer[] = [];
  let sector = header.readInt32LE(FIRST_DIRECTORY_SECTOR);
  while (sector >= 0 && parts.length < MOST_SECTORS) {
    parts.push(await read(sector, 0, size));
    const place = FIRST_FAT_SECTORS + Math.floor((sector * 4) / size) * 4;
    const fat = place + 4 <= HEADER ? header.readInt32LE(place) : -1;
    const next = fat < 0 ? Buffer.alloc(0) : await read(fat, (sector * 4) % size, ((sector * 4) % size) + 4);
    sector = next.length < 4 ? -1 : next.readInt32LE(0);
  }
  return Buffer.concat(parts);
}
