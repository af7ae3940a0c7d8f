import type { Address, Email } from 'postal-mime';
import { headOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { bytes, code, count, moreOf, opening, table } from '../markdown.js';
import { UnreadableFile } from '../unreadable-file.js';
import { ContainedFiles } from './contained-files.js';
import type { DescribeContained } from './contained-files.js';
import { DocumentDigest } from './document-digest.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { readHtml } from './html-reader.js';
import { readableMail, repaired } from './mail-letters.js';
import type { ReadMail } from './mail-letters.js';
import { TextTally } from './text.js';

/** Parts of a message inside one another, and bytes of its headers, that are read. */
const DEEPEST = 50;
const LARGEST_HEADERS = 1024 * 1024;
const SHOWN_ADDRESSES = 5;
const SHOWN_ATTACHMENTS = 20;
/** Attachments that are described, at most. */
const OPENED = 10;

/** Whether a text without a label is a message (RFC 5322): it begins with headers, some of which every message has. */
export function looksLikeMail(text: string): boolean {
  const names = new Set<string>();
  for (const line of text.slice(0, 16_384).split(/\r?\n/)) {
    if (line === '') break;
    if (/^[ \t]/.test(line) && names.size > 0) continue;
    const name = /^([!-9;-~]{1,80}):/.exec(line)?.[1];
    if (name === undefined) return false;
    names.add(name.toLowerCase());
  }
  const further = ['date', 'to', 'subject', 'message-id', 'received', 'mime-version'];
  return names.has('from') && further.filter((name) => names.has(name)).length >= 2;
}

/** Describes an e-mail: headers, text and attachments. Attachments are described as the files that they are. */
export async function* describeMail(
  file: FileSource,
  limits: FilesLimits,
  describe: DescribeContained,
): Findings {
  checkSize(file, limits);
  // The headers alone are known at once, whatever the rest costs.
  yield `${headingOf('E-mail', file)}${showHeaders((await parse(file, headersIn(await headOf(file)))).mail)}`;
  const { mail, notes } = await readMail(file, limits);
  yield notes.map((note) => ` ${note}`).join('');
  yield await bodyOf(mail);
  const { attachments } = mail;
  if (attachments.length === 0) return;
  const rows = attachments
    .slice(0, SHOWN_ATTACHMENTS)
    .map(({ filename, mimeType, content }) => [code(filename ?? ''), code(mimeType), bytes(sizeOf(content))]);
  const rest = moreOf([attachments.length - SHOWN_ATTACHMENTS, 'attachment']);
  yield `\n\n${count(attachments.length, 'attachment')}:\n\n${table(['name', 'type', 'size'], rows)}${rest}`;
  const contained = new ContainedFiles(file, describe, OPENED);
  for (const { filename, mimeType, content } of attachments) {
    if (typeof content === 'string') continue;
    await contained.add(filename ?? 'attachment', new Uint8Array(content as ArrayBuffer), mimeType);
  }
  yield contained.text;
}

/** An e-mail as it is, and sentences about how it is read. @throws {UnreadableFile} if it is too large, or its parts are nested too deeply */
export async function readMail(file: FileSource, limits: FilesLimits): Promise<ReadMail> {
  checkSize(file, limits);
  return parse(file, await file.read(0, file.size));
}

/** What its headers say about an e-mail: names and values. */
export function headersOf(mail: Email): [name: string, values: string[]][] {
  const { subject, from, to = [], cc = [], date } = mail;
  const facts: [string, (string | undefined)[]][] = [
    ['Subject', [subject]],
    ['From', from ? [addressOf(from)] : []],
    ['To', to.map(addressOf)],
    ['Copy to', cc.map(addressOf)],
    ['Date', [date]],
  ];
  return facts
    .map(([name, values]): [string, string[]] => [name, values.filter((value) => value !== undefined)])
    .filter(([, values]) => values.join('') !== '');
}

/** @throws {UnreadableFile} if a file of messages is too large to be kept in memory. @param what it is called */
export function checkSize(file: FileSource, limits: FilesLimits, what = 'e-mail'): void {
  const largest = (limits.memoryMiB / 8) * 1024 * 1024;
  if (file.size <= largest) return;
  throw new UnreadableFile(
    `This ${what} has ${bytes(file.size)}, and no more than ${bytes(largest)} of one are opened here.`,
  );
}

async function parse(file: FileSource, bytes: Uint8Array): Promise<ReadMail> {
  const { content, notes } = await readableMail(bytes, file.mimeType);
  const { default: PostalMime } = await import('postal-mime');
  try {
    const mail = await PostalMime.parse(content, {
      maxNestingDepth: DEEPEST,
      maxHeadersSize: LARGEST_HEADERS,
      forceRfc822Attachments: true,
    });
    return repaired(mail, notes);
  } catch (error) {
    if (!(error instanceof Error) || !/^Maximum /.test(error.message)) throw error;
    throw new UnreadableFile(
      'It is not read further: its headers are too long, or its parts nested too deeply.',
    );
  }
}

/** What is before the first empty line. */
function headersIn(head: Uint8Array): Uint8Array {
  const end = /\r?\n\r?\n/.exec(Buffer.from(head).toString('latin1'))?.index;
  return head.subarray(0, end);
}

function showHeaders(mail: Email): string {
  const shown = headersOf(mail).map(([name, values]) => {
    const left = values.length - SHOWN_ADDRESSES;
    const first = values.slice(0, SHOWN_ADDRESSES).map((value) => code(value, 200));
    return `${name}: ${first.join(', ')}${left > 0 ? ` and ${left} more` : ''}.`;
  });
  return shown.join(' ');
}

function addressOf({ name, address }: Address): string {
  return name && address ? `${name} <${address}>` : address || name;
}

/** Whether the text of a message is in its HTML: it has no other, or one that only says so or is far shorter. */
export async function isTextInHtml({ text = '', html = '' }: Email): Promise<boolean> {
  if (html.trim() === '') return false;
  const plain = new TextTally();
  plain.add(text);
  const digest = new DocumentDigest();
  await readHtml([html], digest);
  return digest.tally.words > 2 * plain.words;
}

/** How its text begins. */
async function bodyOf(mail: Email): Promise<string> {
  const { text, html } = mail;
  if (!(await isTextInHtml(mail)))
    return text?.trim() ? `\n\nIts text begins:\n\n${opening(text.trim(), true)}` : ' It has no text.';
  const digest = new DocumentDigest();
  await readHtml([html!], digest);
  return `\n\n${digest.beginning(true) || 'It has no text.'}`;
}

function sizeOf(content: ArrayBuffer | Uint8Array | string): number {
  return typeof content === 'string' ? content.length : content.byteLength;
}
