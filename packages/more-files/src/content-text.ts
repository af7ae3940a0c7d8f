import { BINARY, linesOf, textOf } from './content-lines.js';
import type { FileBytes } from './file-bytes.js';

/** Characters of a line with its continuations. */
const LONGEST = 512 * 1024;
const LEFT_OUT = 'Pictures, sounds, keys and attachments in it are left out.';

/**
 * The lines of a file of content lines (RFC 5545, RFC 6350) as a person reads them: each as a whole, decoded, and without marks.
 *
 * @param notes gets sentences about what is guessed or left out
 */
export async function* readableLines(
  file: FileBytes,
  head: Uint8Array,
  notes: Set<string>,
): AsyncGenerator<{ number: number; text: string }> {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(file.mimeType)?.[1] ?? '';
  let number = 0;
  let open: { number: number; lines: string[]; length: number } | undefined;
  for await (const line of linesOf(file, head)) {
    file.checkTime();
    number += 1;
    if (open && goesOn(open.lines, line)) {
      if (open.length < LONGEST) open.lines.push(line);
      open.length += line.length;
      continue;
    }
    if (open) yield* shown(open, charset, notes);
    open = { number, lines: [line], length: line.length };
  }
  if (open) yield* shown(open, charset, notes);
}

/** Whether a line continues the one before: after white space, or in quoted-printable after `=`. */
function goesOn(lines: string[], line: string): boolean {
  return /^[ \t]/.test(line) || (/=$/.test(lines.at(-1)!) && /^[^:]*QUOTED-PRINTABLE/i.test(lines[0]!));
}

function* shown(
  { number, lines }: { number: number; lines: string[] },
  charset: string,
  notes: Set<string>,
): Generator<{ number: number; text: string }> {
  if (BINARY.test(lines[0]!) && !/:https?:/i.test(lines[0]!)) {
    notes.add(LEFT_OUT);
    return;
  }
  const { text, isGuess } = textOf(lines, charset);
  if (isGuess) notes.add('That text which is not UTF-8 is windows-1252 is a guess.');
  yield { number, text: text.replace(/\\n/gi, ' ').replace(/\\([,;\\])/g, '$1') };
}
