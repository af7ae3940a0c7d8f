import type { FileBytes } from './file-bytes.js';
import type { ReadFile } from './read-table.js';

const SIGNATURE = '\x93NUMPY';
const NOT_READ = 'Its values are not read here: send what is needed of them as CSV.';

/** What the letters of a type mean (NumPy reference, "The array interface"). Behind them is the number of bytes. */
const KINDS: Record<string, string> = {
  b: 'booleans',
  i: 'integers',
  u: 'integers without a sign',
  f: 'numbers',
  c: 'complex numbers',
  m: 'durations',
  M: 'times',
  S: 'texts of bytes',
  U: 'texts',
  V: 'records',
  O: 'Python objects',
};
const SIZED = 'iufc';

/** Describes an array of NumPy (NPY, NEP 1) by its header. Python objects in it are never executed. Undefined without a header. */
export async function readNumpy(_: FileBytes, head: Uint8Array): Promise<ReadFile | undefined> {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.length);
  if (!bytes.toString('latin1', 0, SIGNATURE.length).startsWith(SIGNATURE)) return undefined;
  const isLong = bytes[6]! > 1;
  const start = isLong ? 12 : 10;
  if (bytes.length < start) return undefined;
  const length = isLong ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8);
  const header = bytes.toString('utf8', start, start + length);
  const [, shape] = /'shape': *\(([\d, ]*)\)/.exec(header) ?? [];
  if (shape === undefined) return undefined;
  const axes = shape.split(',').flatMap((axis) => (axis.trim() === '' ? [] : [axis.trim()]));
  const kind = kindOf(header);
  const about = axes.length === 0 ? `One value (${kind}).` : `${axes.join(' × ')} ${kind}.`;
  return { title: 'NumPy array', facts: [about, NOT_READ], tables: [] };
}

function kindOf(header: string): string {
  const [, fields] = /'descr': *\[(.*?)\], *'fortran/.exec(header) ?? [];
  if (fields !== undefined) {
    const names = [...fields.matchAll(/\('([^']{1,60})',/g)].map(([, name]) => `\`${name}\``);
    return `records (${names.slice(0, 20).join(', ')})`;
  }
  const [, letter = '', count] = /'descr': *'[<>|=]?([a-zA-Z])(\d*)/.exec(header) ?? [];
  const kind = KINDS[letter] ?? 'values';
  return SIZED.includes(letter) && letter !== '' ? `${kind} of ${8 * Number(count)} bits` : kind;
}
