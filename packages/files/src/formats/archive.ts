import { bytes, code, compressionOf, count, table } from '../markdown.js';

/** One entry of an archive of any kind. */
export interface ArchiveEntry {
  name: string;
  /** `link`: a hard or symbolic link. `special`: a device or a pipe. */
  kind: 'file' | 'folder' | 'link' | 'special';
  /** Bytes, unpacked. */
  size: number;
  encrypted?: boolean;
}

/** Entries that are shown, at most. */
const SHOWN = 20;
/** Ordinary archives compress about 10 to 1, logs 50 to 1, bombs 1000 to 1. */
const SUSPICIOUS_RATIO = 100;
/** Files that are tables if they are not in an archive. */
const TABLE = /\.(csv|tsv|tab|psv|ndjson|jsonl|parquet|arrow|feather|xls[xb]?|ods|dbf|sqlite|db)$/i;

export const SEND_TABLES = 'Tables in an archive are not opened: for that, send their files.';

/**
 * Describes what an archive contains.
 *
 * @param entries the entries that were read
 * @param facts `packed`: bytes of the archive, if it is compressed; `more`: whether there are entries that were not read; `opened`:
 *   entries whose tables are described behind this
 */
export function describeArchive(
  entries: ArchiveEntry[],
  facts: { packed?: number; more: boolean; opened?: { table: string }[] },
): string {
  const files = entries.filter(({ kind }) => kind === 'file');
  const size = files.reduce((sum, entry) => sum + entry.size, 0);
  const encrypted = files.filter((entry) => entry.encrypted).length;
  const ratio = facts.packed === undefined || facts.more ? '' : compressionOf(size, facts.packed);
  const atLeast = facts.more ? 'At least ' : '';
  const sentences = [`${atLeast}${count(files.length, 'file')}, ${bytes(size)} unpacked${ratio}.`];
  if (facts.packed !== undefined && size > facts.packed * SUSPICIOUS_RATIO) {
    sentences.push('**Unpacked, it is far larger than the archive: unpack it with care.**');
  }
  const links = entries.filter(({ kind }) => kind === 'link').length;
  const special = entries.filter(({ kind }) => kind === 'special').length;
  if (links > 0) sentences.push(`${count(links, 'link')}.`);
  if (special > 0) sentences.push(`${count(special, 'device or pipe', 'devices or pipes')}.`);
  if (encrypted > 0) {
    sentences.push(
      encrypted === files.length
        ? 'It is encrypted: the names are readable, the contents only with the password.'
        : `${count(encrypted, 'file')} of it encrypted.`,
    );
  }
  const opened = new Set(facts.opened?.map(({ table }) => table.toLowerCase()));
  const isClosed = ({ name }: ArchiveEntry) => TABLE.test(name) && !opened.has(name.toLowerCase());
  if (files.some(isClosed)) sentences.push(SEND_TABLES);
  const rows = files.slice(0, SHOWN).map((entry) => [code(entry.name), bytes(entry.size)]);
  if (rows.length === 0) return sentences.join(' ');
  const rest = files.length > SHOWN ? `\n\n(${atLeast}${count(files.length - SHOWN, 'more file')}.)` : '';
  return `${sentences.join(' ')}\n\n${table(['entry', 'size'], rows)}${rest}`;
}
