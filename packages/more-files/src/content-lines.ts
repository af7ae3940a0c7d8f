import type { FileBytes } from './file-bytes.js';

/** Bytes of a file that are fetched at once, of one line, and of one component without what is left out. */
const CHUNK = 256 * 1024;
const LONGEST_LINE = 512 * 1024;
const LARGEST = 1024 * 1024;
/** Characters before the value of a line. */
const LONGEST_HEADER = 8192;
/** Properties whose values are pictures, sounds, keys and attachments. */
export const BINARY = /^(?:[\w-]+\.)?(?:PHOTO|LOGO|SOUND|KEY|ATTACH)[;:]/i;
const HEADER = /^((?:[^":]|"[^"]*")*):([^]*)$/;

/** A component of a file of content lines (RFC 5545, RFC 6350), such as an event or a contact. */
export interface Component {
  /** Its name in lower case. */
  name: string;
  /** Its lines as they are in the file; each byte is a character. Undefined if it has no end or is too large. */
  lines: string[] | undefined;
}

/** Whether a file begins with a component, after a byte order mark and white space. */
export function beginsWith(head: Uint8Array, name: string): boolean {
  // In UTF-16 each second byte is zero.
  const text = Buffer.from(head.subarray(0, 2048)).toString('latin1').replaceAll('\0', '');
  return new RegExp(`^(?:\\xef\\xbb\\xbf|\\xff\\xfe|\\xfe\\xff)?\\s*BEGIN:${name}\\s`, 'i').test(text);
}

/**
 * The components of some names, one after another. Those inside of them, such as alarms, are left out.
 *
 * @param head how the file begins
 * @param onOther receives each other line
 */
export async function* componentsOf(
  file: FileBytes,
  head: Uint8Array,
  names: string[],
  onOther: (line: string) => void = () => undefined,
): AsyncGenerator<Component> {
  let open: { name: string; lines: string[] | undefined; size: number } | undefined;
  /** The component inside of the open one that is left out. */
  let inner: string | undefined;
  let isLeftOut = false;
  for await (const line of linesOf(file, head)) {
    const [, what, named = ''] = /^(BEGIN|END):\s*([\w-]+)\s*$/i.exec(line) ?? [];
    const name = named.toLowerCase();
    const begins = what?.toLowerCase() === 'begin';
    if (open === undefined) {
      if (begins && names.includes(name)) open = { name, lines: [line], size: 0 };
      else onOther(line);
      continue;
    }
    if (begins && names.includes(name)) {
      yield { name: open.name, lines: undefined };
      open = { name, lines: [line], size: 0 };
      inner = undefined;
    } else if (inner === undefined && begins) inner = name;
    else if (what !== undefined && name === open.name) {
      open.lines?.push(line);
      yield { name, lines: open.lines };
      open = undefined;
      inner = undefined;
    } else if (inner !== undefined) inner = name === inner && !begins ? undefined : inner;
    else {
      isLeftOut = /^[ \t]/.test(line) ? isLeftOut : BINARY.test(line);
      open.size += isLeftOut ? 0 : line.length;
      if (open.size > LARGEST) open.lines = undefined;
      if (!isLeftOut) open.lines?.push(line);
    }
  }
  if (open) yield { name: open.name, lines: undefined };
}

/** Lines that are folded become one: a line goes on after a line break and white space, quoted-printable after `=`. */
function unfolded(lines: string[]): string[] {
  const quoted = /^[^:\n]*QUOTED-PRINTABLE[^:\n]*:(?:.*=\n)+/gim;
  const joined = lines.join('\n').replace(quoted, (value) => value.replaceAll('=\n', ''));
  return joined
    .replace(/\n[ \t]/g, '')
    .split('\n')
    .filter((line) => line !== '');
}

/** The lines of a file as they are; each byte is a character. A file in UTF-16 becomes UTF-8. */
export async function* linesOf(file: FileBytes, head: Uint8Array): AsyncGenerator<string> {
  const [first, second] = head;
  const wide =
    first === 0xff && second === 0xfe
      ? 'utf-16le'
      : first === 0xfe && second === 0xff
        ? 'utf-16be'
        : undefined;
  const decoder = wide === undefined ? undefined : new TextDecoder(wide);
  let rest = '';
  let isBeginning = true;
  for (let start = 0; start < file.size; start += CHUNK) {
    file.checkTime();
    const bytes = await file.read(start, Math.min(file.size, start + CHUNK));
    const read = decoder ? Buffer.from(decoder.decode(bytes, { stream: true })) : Buffer.from(bytes);
    const text = rest + read.toString('latin1');
    const lines = (isBeginning ? text.replace(/^\xef\xbb\xbf/, '').trimStart() : text).split(
      /\r\n|\n|\r(?!$)/,
    );
    isBeginning = false;
    rest = lines.pop()!;
    yield* lines;
    // A line that has no end is cut.
    if (rest.length > LONGEST_LINE) rest = rest.slice(0, LONGEST_LINE);
  }
  if (rest !== '') yield rest.replace(/\r$/, '');
}

/**
 * A component as text that the parser reads: without the encodings of vCard 2.1, and with a name for each parameter.
 *
 * @param charset which the caller declares for the file
 */
export function textOf(lines: string[], charset: string): { text: string; isGuess: boolean } {
  let isGuess = false;
  const decoded = unfolded(lines).map((line) => {
    const { bytes, header, stated } = unquoted(line);
    const label = stated || charset;
    const text = decode(bytes, label);
    isGuess ||= text.isGuess;
    return header === undefined ? text.value : `${header}:${text.value}`;
  });
  return { text: decoded.join('\r\n'), isGuess };
}

/** The value of a line as bytes, and what is before it without its encoding. */
function unquoted(line: string): { bytes: Buffer; header?: string; stated: string } {
  const [, before, value = ''] = HEADER.exec(line) ?? [];
  if (before === undefined) return { bytes: Buffer.from(line, 'latin1'), stated: '' };
  const [name, ...all] = before.slice(0, LONGEST_HEADER).match(/(?:[^;"]|"[^"]*")+/g) ?? [];
  let stated = '';
  let isQuoted = false;
  const parameters = all.flatMap((parameter) => {
    const [key = '', ...values] = parameter.split('=');
    const text = values.length === 0 ? key : values.join('=');
    if (/^charset$/i.test(key)) stated = text.replaceAll('"', '');
    else if (/^quoted-printable$/i.test(text)) isQuoted = true;
    else if (!/^(?:encoding|[78]bit|base64)$/i.test(key))
      return [values.length === 0 ? `TYPE=${key}` : parameter];
    return [];
  });
  const header = Buffer.from([name, ...parameters].join(';'), 'latin1').toString();
  if (!isQuoted) return { bytes: Buffer.from(value, 'latin1'), header, stated };
  const plain = value.replace(/=([0-9a-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  );
  // Line breaks and commas have a meaning in the text that the parser reads.
  const escaped = plain.replace(/\r\n?|\n/g, '\\n').replace(/(?<!\\),/g, '\\,');
  return { bytes: Buffer.from(escaped, 'latin1'), header, stated };
}

/** Text is UTF-8, if nothing says what else it is. */
function decode(bytes: Uint8Array, label: string): { value: string; isGuess: boolean } {
  try {
    return { value: decodedAs(label || 'utf-8', bytes), isGuess: false };
  } catch {
    return { value: decodedAs('windows-1252', bytes), isGuess: true };
  }
}

/** @throws {TypeError | RangeError} if the bytes are no such text, or the encoding is not known */
function decodedAs(label: string, bytes: Uint8Array): string {
  const decoder = new TextDecoder(label, { fatal: true });
  // In one piece, Node 20 decodes windows-1252 as ISO-8859-1.
  return decoder.decode(bytes, { stream: true }) + decoder.decode();
}
