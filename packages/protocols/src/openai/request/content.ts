import { DataUrl, type placesOf } from 'nest-agent-query/protocol';
import { isObject } from '../../view/json.js';
import { invalidRequest } from '../refusals.js';

/** A part of a message, as a query has it, and where the body has it. */
export type SentPart = { pointer: string } & (
  { type: 'text'; text: string } | { type: 'file'; name: string; mimeType: string; base64: unknown }
);

type Members = Record<string, unknown>;

const AUDIO = { wav: 'audio/wav', mp3: 'audio/mpeg' };

/** Where a content has texts and files. @param path to the content, as `placesOf` has it */
export function contentPlaces(path: string): Parameters<typeof placesOf>[0] {
  return {
    [path]: 'text',
    [`${path}.*.text`]: 'text',
    [`${path}.*.image_url`]: 'dataUrl',
    [`${path}.*.image_url.url`]: 'dataUrl',
    [`${path}.*.file_data`]: 'file',
    [`${path}.*.file.file_data`]: 'file',
    [`${path}.*.input_audio.data`]: 'base64',
  };
}

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

/** Each protocol has names of its own for the same parts. Clients mix them, so both take all of them. */
const READERS: Record<string, (part: Members, pointer: string) => SentPart> = {
  input_text: text('text'),
  output_text: text('text'),
  text: text('text'),
  refusal: text('refusal'),
  input_image: imageOf,
  image_url: imageOf,
  input_file: fileOf,
  file: fileOf,
  input_audio: audioOf,
};

/** The URL is the member itself, or in it. */
function imageOf(part: Members, pointer: string): SentPart {
  refuseIds(part, pointer);
  const { image_url: value } = part;
  const isWithin = isObject(value) && !(value instanceof DataUrl);
  const url = isWithin ? value['url'] : value;
  const at = `${pointer}/image_url${isWithin ? '/url' : ''}`;
  if (!(url instanceof DataUrl))
    throw invalidRequest(at, 'must be a data: URL with base64: this service fetches nothing');
  const { mimeType, content } = url;
  const [, subtype = ''] = /^image\/([\w-]+)/.exec(mimeType) ?? [];
  return { type: 'file', name: `image${subtype && `.${subtype}`}`, mimeType, base64: content, pointer: at };
}

/** The members of the file are those of the part, or in its member `file`. */
function fileOf(part: Members, pointer: string): SentPart {
  const isWithin = (part['file'] ?? undefined) !== undefined;
  const members = isWithin ? inner(part, 'file', pointer) : part;
  const place = isWithin ? `${pointer}/file` : pointer;
  refuseIds(members, place);
  const { file_data: data, filename } = members;
  const at = `${place}/file_data`;
  if (data === undefined || data === null)
    throw invalidRequest(at, 'must be present: base64, or a data: URL with base64');
  const isUrl = data instanceof DataUrl;
  return {
    type: 'file',
    name: (filename ?? 'file') as string,
    mimeType: isUrl ? data.mimeType : 'application/octet-stream',
    base64: isUrl ? data.content : data,
    pointer: at,
  };
}

function audioOf(part: Members, pointer: string): SentPart {
  const { data, format } = inner(part, 'input_audio', pointer);
  const place = `${pointer}/input_audio`;
  const mimeType = Object.hasOwn(AUDIO, String(format)) && AUDIO[format as keyof typeof AUDIO];
  if (!mimeType) throw invalidRequest(`${place}/format`, 'must be "wav" or "mp3"');
  return {
    type: 'file',
    name: `audio.${String(format)}`,
    mimeType,
    base64: data,
    pointer: `${place}/data`,
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
