import { isUtf8 } from 'node:buffer';
import type { Email } from 'postal-mime';
import { code, count } from '../markdown.js';
import { decoderOf, labelOf } from './code-pages.js';
import { certainEncoding, guessedEncoding, guessNote } from './encoding.js';

/** An e-mail, and sentences about how it is read. */
export interface ReadMail {
  mail: Email;
  notes: string[];
}

const CONTENT_TYPE = /^content-type:[^\n]*(?:\n[ \t][^\n]*)*/gim;
const CHARSET = /(\bcharset\s*=\s*"?)([^\s";]+)/i;
const ENCODED_WORD = /=\?([^?*\s]{1,40})(?:\*[^?]*)?\?[bq]\?/gi;

/**
 * The bytes of an e-mail as its parser reads them: where no part declares an encoding and the bytes are no UTF-8, they are decoded as a
 * text of a file is.
 *
 * @param mimeType which the caller declares
 */
export async function readableMail(
  bytes: Uint8Array,
  mimeType: string,
): Promise<{ content: Uint8Array; notes: string[] }> {
  // A character for each byte, so that it can become bytes again.
  const raw = Buffer.from(bytes).toString('latin1');
  const stated = [...raw.matchAll(CONTENT_TYPE)].flatMap(([type]) => CHARSET.exec(type)?.[2] ?? []);
  const notes = [...new Set([...stated, ...[...raw.matchAll(ENCODED_WORD)].map(([, label]) => label!)])]
    .filter(isDosPage)
    .map((label) => `What is in ${code(label, 40)} is read as windows-1252, and its letters may be wrong.`);
  if (stated.some((label) => labelOf(label) !== undefined)) return { content: bytes, notes };
  // A name that is no encoding says nothing.
  const unstated = raw.replace(CONTENT_TYPE, (type) => type.replace(CHARSET, '$1utf-8'));
  const content = Buffer.from(unstated, 'latin1');
  if (isUtf8(content)) return { content, notes };
  const body = content.subarray(/\r?\n\r?\n/.exec(unstated)?.index ?? 0);
  const encoding = certainEncoding(mimeType, body, true) ?? (await guessedEncoding(content));
  if (!encoding) return { content, notes };
  return {
    content: Buffer.from(decoderOf(encoding.label).decode(content, { stream: true })),
    notes: [...notes, ...guessNote(encoding)],
  };
}

function isDosPage(label: string): boolean {
  return labelOf(label)?.startsWith('cp') === true;
}

/** An e-mail with the letters that Node 20 decodes as control characters, and a sentence if some could not be decoded. */
export function repaired(mail: Email, notes: string[]): ReadMail {
  const { attachments, ...rest } = mail;
  const whole: Email = {
    ...withSigns(rest),
    attachments: attachments.map((each) => ({ ...each, filename: withSigns(each.filename) })),
  };
  const shown = [whole.subject, whole.text ?? whole.html, whole.from?.name].join(' ');
  const broken = shown.split('\ufffd').length - 1;
  return {
    mail: whole,
    notes: [...notes, ...(broken > 0 ? [`${count(broken, 'character')} could not be decoded.`] : [])],
  };
}

/** Each text in it with the signs of windows-1252 in place of control characters, which no message has. */
function withSigns<T>(value: T): T {
  if (typeof value === 'string') return signsOf(value) as T;
  if (Array.isArray(value)) return value.map(withSigns) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withSigns(each)])) as T;
}

function signsOf(text: string): string {
  return text.replace(/[\x80-\x9f]/g, (control) =>
    decoderOf('windows-1252').decode(Uint8Array.of(control.charCodeAt(0))),
  );
}
