import { MemoryFile } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { count } from '../markdown.js';
import { ContainedFiles } from './contained-files.js';
import type { DescribeContained } from './contained-files.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { checkSize, looksLikeMail } from './mail.js';

/** The line before each message (RFC 4155). */
const FROM = /^From \S.* \d{4}(?: [+-]\d{4})?\r?\n/;
const BETWEEN = /(?<=\n\r?\n)(?=From \S.* \d{4}(?: [+-]\d{4})?\r?\n)/;
/** Messages that are described, at most. */
const OPENED = 10;

/** Whether a text is a mailbox (mbox): messages, each after a line that begins with `From`. */
export function looksLikeMailbox(text: string): boolean {
  return FROM.test(text) && looksLikeMail(text.replace(FROM, ''));
}

/** Describes a mailbox by its messages. */
export async function* describeMailbox(
  file: FileSource,
  limits: FilesLimits,
  describe: DescribeContained,
): Findings {
  const messages = await messagesOf(file, limits);
  yield `${headingOf('Mailbox (mbox)', file)}${count(messages.length, 'message')}.`;
  const contained = new ContainedFiles(file, describe, OPENED);
  for (const { name, bytes, mimeType } of messages.slice(0, OPENED + 1))
    await contained.add(name, bytes, mimeType);
  yield contained.text;
}

/** The messages of a mailbox as files. @throws {UnreadableFile} if it is too large */
export async function messagesOf(
  file: FileSource,
  limits: FilesLimits,
): Promise<{ name: string; bytes: Uint8Array; mimeType: string; open: () => Promise<MemoryFile> }[]> {
  checkSize(file, limits, 'mailbox');
  // A character for each byte, so that it can become bytes again.
  const text = Buffer.from(await file.read(0, file.size))
    .toString('latin1')
    .trimStart();
  return text.split(BETWEEN).map((message, at) => {
    const name = `message ${at + 1}.eml`;
    const mimeType = 'message/rfc822';
    // A line of a message that begins with `From` has a mark in front.
    const bytes = Buffer.from(message.replace(FROM, '').replace(/^>(?=>*From )/gm, ''), 'latin1');
    return { name, bytes, mimeType, open: async () => new MemoryFile(name, bytes, file, mimeType) };
  });
}
