import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type {
  CutText,
  Envelope,
  MessageEnvelope,
  Turn,
  TurnAnswer,
  TurnFile,
  TurnText,
} from 'nest-agent-query-client';

/** The most characters of a title: Unicode code points. */
const TITLE_LENGTH = 80;

/**
 * The title that a query with these parts gives to its session: the beginning of its first text that is not blank, in one line.
 * Undefined if there is none.
 *
 * @example
 * session.title ??= titleOf(admission.parts);
 */
export function titleOf(parts: Turn['parts']): string | undefined {
  for (const part of parts) {
    const title = part.type === 'text' && !part.earlier ? beginningOf(part.text) : '';
    if (title !== '') return title;
  }
  return undefined;
}

/** Stops as soon as it has enough: a text may have many megabytes. */
function beginningOf(text: string): string {
  let line = '';
  // A longer word is divided, but only behind what the title has of it.
  for (const [word] of text.matchAll(/\S{1,80}/gu)) {
    line += line === '' ? word : ` ${word}`;
    // A code point has at most two code units.
    if (line.length >= 2 * TITLE_LENGTH) break;
  }
  return [...line].slice(0, TITLE_LENGTH).join('').trimEnd();
}

/**
 * The envelopes of an answer without the contents of its messages, which the text of the answer has. Each message has the length of
 * its content instead. Undefined if the text is the only message.
 */
export function withoutMessageTexts({ text, envelopes }: TurnAnswer): Envelope[] | undefined {
  if (isOneMessage(envelopes, text)) return undefined;
  return envelopes.map((envelope) => {
    if (!isMessage(envelope)) return envelope;
    return { ...envelope, data: { ...envelope.data, content: envelope.data.content.length } };
  });
}

/** Undoes `withoutMessageTexts`. If only the beginning of the text is given, the contents of the messages end where it ends. */
export function withMessageTexts(envelopes: Envelope[] | undefined, text: string): Envelope[] {
  if (!envelopes) return text === '' ? [] : [{ type: 'message', data: { content: text } }];
  let offset = 0;
  return envelopes.map((envelope) => {
    if (envelope.type !== 'message') return envelope;
    const data = envelope.data as { content: number };
    const content = text.slice(offset, offset + data.content);
    offset += data.content;
    return { ...envelope, data: { ...data, content } };
  });
}

function isOneMessage(envelopes: Envelope[], text: string): boolean {
  const [first] = envelopes;
  if (!first) return text === '';
  if (envelopes.length > 1 || text === '' || !isMessage(first)) return false;
  return first.data.content === text && Object.keys(first.data).length === 1;
}

function isMessage(envelope: Envelope): envelope is MessageEnvelope {
  return envelope.type === 'message';
}

/** The most bytes of UTF-8 that a page of turns shows of one text. */
const SHOWN_BYTES = 64 * 1024;

/** A text of a turn that pages show cut, as it is kept beside the turn. */
export interface LongText {
  /** SHA-256 of the text as UTF-8, lower-case hexadecimal. */
  sha256: string;
  text: string;
}

/** A turn, or the parts of one, with its long texts cut; and these texts, if there are any. */
interface Cut<T> {
  cut: T;
  long: LongText[];
}

/** Cuts the long texts of a turn's parts, as pages show them. */
export function cutParts(parts: Turn['parts']): Cut<Turn['parts']> {
  const long: LongText[] = [];
  const cut = parts.map((part) => (part.type === 'text' ? { ...part, ...cutText(part.text, long) } : part));
  return { cut, long };
}

/** Cuts the text of an answer, as pages show it; then it has its size and its digest beside it. */
export function cutAnswer(text: string): Cut<Pick<Turn, 'text'> & CutText> {
  const long: LongText[] = [];
  return { cut: { text, ...cutText(text, long) }, long };
}

/**
 * Cuts the long texts of a turn. The contents of its messages end where the text of the answer is cut.
 *
 * @param whole the turn with whole texts
 * @returns the turn as pages show it, which is `whole` itself if no text is long; and the texts that were cut, by their digests
 *
 * @example
 * const { shown, longTexts } = shownTurn(turn);
 */
export function shownTurn(whole: Turn): { shown: Turn; longTexts: Map<string, string> } {
  const parts = cutParts(whole.parts);
  const answer = cutAnswer(whole.text);
  const longTexts = new Map([...parts.long, ...answer.long].map(({ sha256, text }) => [sha256, text]));
  if (longTexts.size === 0) return { shown: whole, longTexts };
  const envelopes = withMessageTexts(withoutMessageTexts(whole), answer.cut.text);
  return { shown: { ...whole, parts: parts.cut, ...answer.cut, envelopes }, longTexts };
}

/** Puts the whole texts back into parts that were cut. `find` returns the text with a digest, if it is kept. */
export function wholeParts(
  parts: Turn['parts'],
  find: (sha256: string) => string | undefined,
): Turn['parts'] {
  return parts.map((part): TurnText | TurnFile => {
    if (part.type === 'file' || !part.truncated) return part;
    const { truncated, size, sha256, ...rest } = part;
    const text = find(sha256!);
    return text === undefined ? part : { ...rest, text };
  });
}

/** The members of a turn that have texts. */
export type TextsOfTurn = Pick<Turn, 'runId' | 'parts' | 'text'> & CutText;

/** Puts the whole texts back into a turn that was cut. `find` returns the text with a digest, if it is kept. */
export function wholeTurn<T extends TextsOfTurn>(turn: T, find: (sha256: string) => string | undefined): T {
  const parts = wholeParts(turn.parts, find);
  const { truncated, size, sha256, ...rest } = turn;
  const text = truncated ? find(sha256!) : undefined;
  return text === undefined ? { ...turn, parts } : ({ ...rest, parts, text } as T);
}

function cutText(text: string, long: LongText[]): (Required<CutText> & { text: string }) | undefined {
  // A UTF-16 code unit has at most three bytes in UTF-8.
  if (text.length * 3 <= SHOWN_BYTES) return undefined;
  const bytes = Buffer.from(text);
  if (bytes.length <= SHOWN_BYTES) return undefined;
  let end = SHOWN_BYTES;
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  long.push({ sha256, text });
  return { text: bytes.toString('utf8', 0, end), truncated: true, size: bytes.length, sha256 };
}
