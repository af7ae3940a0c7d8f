import { DataUrl } from 'nest-agent-query/protocol';
import { isObject } from '../../view/json.js';
import { invalidRequest } from '../refusals.js';

/** A part of a message, as a query has it, and where the body has it. */
export type SentPart = { pointer: string } & (
  { type: 'text'; text: string } | { type: 'file'; name: string; mimeType: string; base64: unknown }
);

type Members = Record<string, unknown>;

const AUDIO = { wav: 'audio/wav', mp3: 'audio/mpeg' };

/**
 * Reads the content of a message, of both protocols.
 *
 * @param pointer to the content
 * @throws {QueryError} `invalid_query`
 */
export function contentOf(content: unknown, pointer: string): SentPart[] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content, pointer }];
  if (!Array.isArray(content)) throw invalidRequest(pointer, 'must be a string or an array of parts');
  return content.map((part: unknown, index) => {
    const at = `${pointer}/${index}`;
    if (!isObject(part)) throw invalidRequest(at, 'must be an object');
    const read = Object.hasOwn(READERS, String(part['type'])) && READERS[String(part['type'])];
    if (!read) throw invalidRequest(`${at}/type`, `must be one of ${Object.keys(READERS).join(', ')}`);
    return read(part, at);
  });
}

const text =
  (name: string) =>
  (part: Members, pointer: string): SentPart => {
    const value = part[name];
    if (typeof value !== 'string') throw invalidRequest(`${pointer}/${name}`, 'must be a string');
    return { type: 'text', text: value, pointer: `${pointer}/${name}` };
  };

const READERS: Record<string, (part: Members, pointer: string) => SentPart> = {
  input_text: text('text'),
  output_text: text('text'),
  text: text('text'),
  refusal: text('refusal'),
  input_image: (part, pointer) => imageOf(part, 'image_url', pointer),
  image_url: (part, pointer) => imageOf(inner(part, 'image_url', pointer), 'url', `${pointer}/image_url`),
  input_file: (part, pointer) => fileOf(part, pointer),
  file: (part, pointer) => fileOf(inner(part, 'file', pointer), `${pointer}/file`),
  input_audio: (part, pointer) => audioOf(inner(part, 'input_audio', pointer), `${pointer}/input_audio`),
};

function imageOf(part: Members, name: string, pointer: string): SentPart {
  refuseIds(part, pointer);
  const url = part[name];
  const at = `${pointer}/${name}`;
  if (!(url instanceof DataUrl))
    throw invalidRequest(at, 'must be a data: URL with base64: this service fetches nothing');
  const { mimeType, content } = url;
  const [, subtype = ''] = /^image\/([\w-]+)/.exec(mimeType) ?? [];
  return { type: 'file', name: `image${subtype && `.${subtype}`}`, mimeType, base64: content, pointer: at };
}

function fileOf(part: Members, pointer: string): SentPart {
  refuseIds(part, pointer);
  const { file_data: data, filename = 'file' } = part;
  const at = `${pointer}/file_data`;
  if (data === undefined) throw invalidRequest(at, 'must be present: base64, or a data: URL with base64');
  const isUrl = data instanceof DataUrl;
  return {
    type: 'file',
    name: filename as string,
    mimeType: isUrl ? data.mimeType : 'application/octet-stream',
    base64: isUrl ? data.content : data,
    pointer: at,
  };
}

function audioOf({ data, format }: Members, pointer: string): SentPart {
  const mimeType = Object.hasOwn(AUDIO, String(format)) && AUDIO[format as keyof typeof AUDIO];
  if (!mimeType) throw invalidRequest(`${pointer}/format`, 'must be "wav" or "mp3"');
  return {
    type: 'file',
    name: `audio.${String(format)}`,
    mimeType,
    base64: data,
    pointer: `${pointer}/data`,
  };
}

/** What is not in the request. */
function refuseIds(part: Members, pointer: string): void {
  for (const name of ['file_id', 'file_url'])
    if (part[name] !== undefined && part[name] !== null)
      throw invalidRequest(`${pointer}/${name}`, 'is not supported: send the content of the file as base64');
}

function inner(part: Members, name: string, pointer: string): Members {
  const value = part[name];
  if (!isObject(value)) throw invalidRequest(`${pointer}/${name}`, 'must be an object');
  return value;
}
