import { isUtf8 } from 'node:buffer';
import { labelNotes } from './column-notes.js';
import type { FileBytes } from './file-bytes.js';
import { clockOf, fractionOf, isoDay, isoSecond } from './iso-times.js';
import type { ReadFile } from './read-table.js';
import { UnreadableTableFile } from './unreadable-table-file.js';

interface Variable {
  name: string;
  label: string;
  isNumber: boolean;
  format: string;
  start: number;
  length: number;
}

interface Member {
  name: string;
  variables: Variable[];
  start: number;
  end: number;
}

/** Bytes of a record, with which each part of a file begins, and of what describes a variable. */
const RECORD = 80;
const DESCRIPTOR = 140;
const CHUNK = RECORD * 4096;
const SIGNATURE = /^HEADER RECORD\*{7}(?:LIBRARY|LIBV8 {2}) HEADER RECORD!{7}/;
const HEADER = /^HEADER RECORD\*{7}(MEMBER|MEMBV8|NAMESTR|NAMSTV8|OBS|OBSV8) +HEADER RECORD!{7}/;
const BROKEN = 'This SAS transport file is broken or cut off: save it again, or as CSV.';
const GUESSED = 'The file does not say the encoding of its texts: what is not UTF-8 is read as Windows-1252.';
/** Days from 1960, where SAS begins, to 1970. */
const DAYS_TO_1970 = 3653;
const DATE =
  /^(DATE|DAY|DDMMYY|MMDDYY|YYMMDD|JULIAN|MONYY|MMYY|YYMM|WEEKDAT|WORDDAT|[BE]8601DA|NLDATE\d*$|YYQ)/;
const DATE_TIME = /^(DATETIME|DATEAMPM|MDYAMPM|[BE]8601(DT|DZ|DN)|NLDATM|DTDATE)/;
const TIME = /^(TIME|HHMM|TOD|HOUR|MMSS|[BE]8601(TM|TZ)|NLTIME)/;

/** Reads transport files of SAS (XPT), of version 5 and 8. @throws {UnreadableTableFile} */
export async function readSas(file: FileBytes, head: Uint8Array): Promise<ReadFile | undefined> {
  if (!SIGNATURE.test(Buffer.from(head).toString('latin1', 0, RECORD))) return undefined;
  const members = await membersOf(file);
  if (members.length === 0) throw new UnreadableTableFile(BROKEN);
  return {
    title: 'SAS transport file (XPT)',
    facts: [],
    tables: members.map((member) => ({
      name: members.length > 1 ? member.name : undefined,
      columns: member.variables.map(({ name }) => name),
      notes: labelNotes(member.variables),
      rows: (notes) => rowsOf(file, member, notes),
    })),
  };
}

/** The data sets of a file, which does not say how many rows they have. */
async function membersOf(file: FileBytes): Promise<Member[]> {
  const members: Member[] = [];
  let described = { name: '', variables: [] as Variable[] };
  for (let start = 0; start + RECORD <= file.size; start += CHUNK) {
    file.checkTime();
    const chunk = Buffer.from(await file.read(start, Math.min(file.size, start + CHUNK)));
    for (let at = 0; at + RECORD <= chunk.length; at += RECORD) {
      const record = chunk.toString('latin1', at, at + RECORD);
      const [, kind] = HEADER.exec(record) ?? [];
      if (!kind) continue;
      const after = start + at + RECORD;
      if (kind.startsWith('MEMB')) {
        if (!record.trimEnd().endsWith(String(DESCRIPTOR))) throw new UnreadableTableFile(BROKEN);
        for (const previous of members.slice(-1)) previous.end = start + at;
        const nameAt = after + RECORD + 8;
        const name = await file.read(nameAt, Math.min(file.size, nameAt + (kind === 'MEMBV8' ? 32 : 8)));
        described = { name: Buffer.from(name).toString('latin1').trimEnd(), variables: [] };
      } else if (kind.startsWith('NAM')) {
        described.variables = await variablesOf(
          file,
          after,
          Number(record.slice(48, 58)),
          kind === 'NAMSTV8',
        );
      } else if (described.variables.length > 0) {
        members.push({ ...described, start: after, end: file.size });
      }
    }
  }
  return members;
}

async function variablesOf(file: FileBytes, at: number, count: number, isLong: boolean): Promise<Variable[]> {
  const end = at + count * DESCRIPTOR;
  if (!(end <= file.size)) throw new UnreadableTableFile(BROKEN);
  const bytes = Buffer.from(await file.read(at, end));
  return Array.from({ length: count }, (_, index) => {
    const each = bytes.subarray(index * DESCRIPTOR, (index + 1) * DESCRIPTOR);
    const text = (from: number, to: number) => each.toString('latin1', from, to).replace(/[\0 ]+$/, '');
    const [start, length] = [each.readInt32BE(84), each.readInt16BE(4)];
    if (start < 0 || length <= 0) throw new UnreadableTableFile(BROKEN);
    const name = isLong ? text(88, 120) : text(8, 16);
    return {
      name,
      label: text(16, 56),
      isNumber: each.readInt16BE(0) === 1,
      format: text(56, 64),
      start,
      length,
    };
  });
}

async function* rowsOf(file: FileBytes, member: Member, notes: string[]): AsyncGenerator<(string | null)[]> {
  const { variables, start, end } = member;
  const rowLength = variables.reduce((longest, each) => Math.max(longest, each.start + each.length), 0);
  const size = Math.max(1, Math.floor(CHUNK / rowLength)) * rowLength;
  // Blanks fill the last record, and may look like rows.
  const tail = await file.read(Math.max(start, end - RECORD + 1), end);
  const filled = end - tail.length + tail.findLastIndex((byte) => byte !== 0x20) + 1;
  const count = Math.min(Math.floor((end - start) / rowLength), Math.ceil((filled - start) / rowLength));
  const last = start + count * rowLength;
  let isGuessed = false;
  const textOf = (bytes: Buffer) => {
    const decoder = new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252');
    isGuessed ||= decoder.encoding !== 'utf-8';
    // In one piece, Node 20 decodes windows-1252 as ISO-8859-1.
    return decoder.decode(bytes, { stream: true }).replace(/[\0 ]+$/, '') || null;
  };
  for (let at = start; at < last; at += size) {
    file.checkTime();
    const chunk = Buffer.from(await file.read(at, Math.min(last, at + size)));
    for (let row = 0; row + rowLength <= chunk.length; row += rowLength) {
      yield variables.map((variable) => {
        const bytes = chunk.subarray(row + variable.start, row + variable.start + variable.length);
        return variable.isNumber ? numberText(bytes, variable.format) : textOf(bytes);
      });
    }
  }
  if (isGuessed) notes.push(GUESSED);
}

/** A number in the form of IBM mainframes: a sign, a power of 16, and up to 56 bits. */
function numberText(bytes: Buffer, format: string): string | null {
  const [first = 0, ...others] = bytes;
  // A missing value is a point, a low line or a letter, and zeros.
  if (/[._A-Z]/.test(String.fromCharCode(first)) && others.every((byte) => byte === 0)) return null;
  const fraction = Number(Buffer.concat([bytes, Buffer.alloc(8)]).readBigUInt64BE() & 0xffffffffffffffn);
  const value = fraction * 2 ** (4 * ((first & 0x7f) - 64) - 56) * (first & 0x80 ? -1 : 1);
  if (DATE_TIME.test(format)) return isoSecond(value - DAYS_TO_1970 * 86_400) ?? String(value);
  if (DATE.test(format)) return isoDay(value - DAYS_TO_1970) ?? String(value);
  if (!TIME.test(format) || value < 0) return String(value);
  return clockOf(BigInt(Math.floor(value))) + fractionOf(BigInt(Math.floor((value % 1) * 1000)), 3);
}
