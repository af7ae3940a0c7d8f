import { DataUrl, type MadeQuery, placesOf, invalidQuery } from 'nest-agent-query/protocol';
import { extensionOf } from '../view/extension-of.js';
import { isObject } from '../view/json.js';
import type { InputMessage } from './run-input.js';

type Part = MadeQuery['parts'][number];

/** A part of a query, and where the body has it. */
export interface PlacedPart {
  part: Part;
  /** Of the content: a text, or the source of a file. */
  pointer: string;
}

/** Where an input has files. `data` and `url` are those of the older form `binary`. */
export const PLACES = placesOf({
  'messages.*.content.*.source.value': 'file',
  'messages.*.content.*.data': 'file',
  'messages.*.content.*.url': 'dataUrl',
});

const FILE_TYPES = ['image', 'audio', 'video', 'document', 'binary'];

/**
 * The parts of a message of the user.
 *
 * @param at the index of the message
 * @throws {QueryError} `invalid_query`
 */
export function partsOf({ content }: InputMessage, at: number): PlacedPart[] {
  const pointer = `/messages/${at}/content`;
  if (typeof content === 'string') return [{ part: { type: 'text', text: content }, pointer }];
  if (!Array.isArray(content))
    throw invalidQuery([{ pointer, detail: 'must be a string or an array of parts' }]);
  return content.map((part: unknown, index) => partOf(part, index, `${pointer}/${index}`));
}

/** The text of a message of the history. */
export function textOf({ content }: InputMessage): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

function partOf(part: unknown, index: number, pointer: string): PlacedPart {
  const { type, text } = isObject(part) ? part : {};
  if (type === 'text') {
    if (typeof text === 'string') return { part: { type, text }, pointer: `${pointer}/text` };
    throw invalidQuery([{ pointer: `${pointer}/text`, detail: 'must be a string' }]);
  }
  if (!isObject(part) || !FILE_TYPES.includes(type as string)) {
    const detail = `must have the type "text", "${FILE_TYPES.slice(0, -1).join('", "')}" or "binary"`;
    throw invalidQuery([{ pointer: `${pointer}/type`, detail }]);
  }
  const isBinary = type === 'binary';
  const sha256 = digestOf(part);
  const { mimeType, value } = isBinary ? binarySourceOf(part) : sourceOf(part);
  const content = value instanceof DataUrl ? value.content : value;
  const given = mimeType ?? (value instanceof DataUrl ? value.mimeType : undefined);
  if (sha256 === undefined && (content === undefined || typeof content === 'string'))
    throw invalidQuery([
      { pointer, detail: 'must bring its content as base64: this service fetches no URL' },
    ]);
  const name = nameOf(part) ?? `${type as string}-${index + 1}.${extensionOf(given)}`;
  return {
    part: { type: 'file', name, mimeType: given as string, ...(sha256 ? { sha256 } : { base64: content }) },
    pointer: isBinary ? pointer : `${pointer}/source`,
  };
}

function sourceOf({ source }: Record<string, unknown>) {
  const { type, value, mimeType } = isObject(source) ? source : {};
  const isContent = type === 'data' || value instanceof DataUrl;
  return { mimeType, value: isContent ? value : undefined };
}

function binarySourceOf({ data, url, mimeType }: Record<string, unknown>) {
  return { mimeType, value: data ?? url };
}

/** The digest that a loaded message has beside the URL of a file. A URL is no base64, and is not kept. */
function digestOf({ source, metadata }: Record<string, unknown>): string | undefined {
  const { sha256 } = isObject(metadata) ? metadata : {};
  const isUrl = isObject(source) && source['type'] === 'url' && !(source['value'] instanceof DataUrl);
  return isUrl && typeof sha256 === 'string' ? sha256 : undefined;
}

function nameOf({ filename, metadata }: Record<string, unknown>): string | undefined {
  const given = filename ?? (isObject(metadata) ? (metadata['filename'] ?? metadata['name']) : undefined);
  return typeof given === 'string' ? given : undefined;
}
