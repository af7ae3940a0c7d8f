import type { FieldError } from 'nest-agent-query';
import { invalidQuery, type MadeQuery, placesOf } from 'nest-agent-query/protocol';
import { extensionOf } from '../../view/extension-of.js';
import { isObject } from '../../view/json.js';
import { contentTypeNotSupported } from '../refusals.js';

type QueryPart = MadeQuery['parts'][number];

/** Where a message of REST has texts and files. */
export const REST_PLACES = placesOf({ 'message.parts.*.text': 'text', 'message.parts.*.raw': 'base64' });

/** The same in the parameters of JSON-RPC. */
export const RPC_PLACES = placesOf({
  'params.message.parts.*.text': 'text',
  'params.message.parts.*.raw': 'base64',
});

const CONTENTS = ['text', 'raw', 'url', 'data'] as const;

/** A part with what it has: one of `CONTENTS`. */
interface ReadPart {
  kind: (typeof CONTENTS)[number];
  value: unknown;
  mediaType: string | undefined;
  filename: unknown;
}

/**
 * The parts of a message as those of a query: what is structured data for A2A, an agent reads as its JSON.
 *
 * @param modes the media types that the agent takes
 * @throws {QueryError} `invalid_query` with every fault · `content_type_not_supported`
 */
export function queryPartsOf(parts: readonly unknown[], modes: readonly string[]): QueryPart[] {
  const faults: FieldError[] = [];
  const read = parts.map((part, index) => readPart(part, `/message/parts/${index}`, faults));
  if (faults.length > 0) throw invalidQuery(faults);
  for (const { mediaType } of read as ReadPart[])
    if (mediaType !== undefined && !isTaken(mediaType, modes))
      throw contentTypeNotSupported(mediaType, modes);
  return (read as ReadPart[]).map(queryPartOf);
}

/** Where the request has what the query has at a JSON Pointer. */
export function placeOf(pointer: string): string {
  return pointer
    .replace(/^\/parts\/(\d+)\/name$/, '/message/parts/$1/filename')
    .replace(/^\/parts\/(\d+)\/mimeType$/, '/message/parts/$1/mediaType')
    .replace(/^\/parts\/(\d+)\/base64$/, '/message/parts/$1/raw')
    .replace(/^\/parts/, '/message/parts')
    .replace(/^\/kwargs\/session_id$/, '/message/contextId')
    .replace(/^\/(?:kwargs|metadata)/, '/message/metadata');
}

/** The content of a part; null for one that is not valid. */
export function contentOf(part: unknown): Pick<ReadPart, 'kind' | 'value'> | null {
  if (!isObject(part)) return null;
  const present = CONTENTS.filter((kind) => part[kind] !== undefined && part[kind] !== null);
  // The value of `data` may be null.
  const kinds = present.length === 0 && Object.hasOwn(part, 'data') ? (['data'] as const) : present;
  const [kind] = kinds;
  return kind === undefined || kinds.length > 1 ? null : { kind, value: part[kind] };
}

function readPart(part: unknown, pointer: string, faults: FieldError[]): ReadPart | undefined {
  const fault = (detail: string, member = '') => void faults.push({ pointer: pointer + member, detail });
  const content = contentOf(part);
  if (!content) return fault('must have one of "text", "raw" and "data"');
  const { kind, value } = content;
  const { mediaType, filename } = part as Record<string, unknown>;
  if (kind === 'text' && typeof value !== 'string') return fault('must be a string', '/text');
  if (kind === 'url')
    return fault('cannot be fetched by this service: send the content of the file in "raw"', '/url');
  const type = mediaType ?? undefined;
  if (type !== undefined && typeof type !== 'string') return fault('must be a string', '/mediaType');
  return { kind, value, mediaType: type || DEFAULT_TYPES[kind], filename: filename ?? '' };
}

/** What a part is that names no type. Nothing is known of a file. */
const DEFAULT_TYPES: Partial<Record<ReadPart['kind'], string>> = {
  text: 'text/plain',
  data: 'application/json',
};

function queryPartOf({ kind, value, mediaType, filename }: ReadPart, index: number): QueryPart {
  if (kind === 'text') return { type: 'text', text: value as string };
  if (kind === 'data') return { type: 'text', text: JSON.stringify(value) };
  const name = filename === '' ? `file-${index + 1}.${extensionOf(mediaType)}` : (filename as string);
  return { type: 'file', name, mimeType: mediaType ?? 'application/octet-stream', base64: value };
}

/** @param modes media types, which may end with a wildcard: `image/*` */
function isTaken(mediaType: string, modes: readonly string[]): boolean {
  const [essence = ''] = mediaType.toLowerCase().split(';', 1);
  const [type] = essence.split('/', 1);
  return ['*/*', `${type}/*`, essence.trim()].some((mode) => modes.includes(mode));
}
