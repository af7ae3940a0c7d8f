import { Buffer } from 'node:buffer';

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** RFC 9110 §5.6.4: no control character but the tab, and nothing that a header cannot carry. */
const QUOTED = String.raw`"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*"`;
const PARAMETER = `${TOKEN}=(?:${TOKEN}|${QUOTED})`;
/** RFC 9110 §8.3.1 */
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${PARAMETER})*$`);

/** Types that say nothing about the bytes. */
const GENERIC = /^(\*\/\*|(application|binary)\/octet-stream|application\/(binary|unknown|download))$/;

/** Formats that other types use inside. Bytes of these formats do not contradict a declared type. */
const CONTAINER = /^(application\/(zip|gzip|xml|cfb|tar|ogg)|video\/mp4|(audio|video)\/ms-asf)$/;

/** Types whose names differ although their bytes do not tell them apart. */
const FAMILIES: [family: string, types: RegExp][] = [
  // Windows declares CSV files as `application/vnd.ms-excel`.
  [
    'text',
    /^(text\/.*|application\/((.+\+)?(json|xml)|ndjson|jsonl|javascript|sql|yaml|toml|sh|vnd\.ms-excel))$/,
  ],
  ['text', /^image\/svg\+xml$/],
  ['media', /^(audio|video)\//],
];

const REGISTERED_NAMES = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
  ['image/ms-bmp', 'image/bmp'],
  ['image/heif', 'image/heic'],
  ['image/icon', 'image/vnd.microsoft.icon'],
  ['application/zip-compressed', 'application/zip'],
  ['application/gtar', 'application/tar'],
  ['application/tgz', 'application/gzip'],
]);

/** Whether a text has the grammar of a media type: `type/subtype`, with optional parameters. */
export function isMediaType(text: string): boolean {
  return MEDIA_TYPE.test(text);
}

/**
 * Whether bytes of one type were clearly declared as another: an image as a PDF, a PNG as a JPEG. In doubt they do not
 * contradict each other: a generic declared type, a container that many types use, and different names of one family (all kinds
 * of text; audio and video).
 */
export function contradicts(declared: string, detected: string): boolean {
  const said = normalized(declared);
  const found = normalized(detected);
  if (GENERIC.test(said) || CONTAINER.test(found)) return false;
  return subtypeOf(said) !== subtypeOf(found) && familyOf(said) !== familyOf(found);
}

/** The type in lower case, without its parameters. */
export function bareType(type: string): string {
  return type.split(';', 1)[0]!.trim().toLowerCase();
}

/** Whether a type says nothing about the bytes, such as `application/octet-stream`. */
export function isGenericType(type: string): boolean {
  return GENERIC.test(normalized(type));
}

/** Whether a type is one of text: `text/*`, JSON, XML, YAML, source code. */
export function isTextType(type: string): boolean {
  return familyOf(normalized(type)) === 'text';
}

function subtypeOf(type: string): string {
  return type.split('/')[1]!.replace(/^vnd\./, '');
}

function familyOf(type: string): string {
  return FAMILIES.find(([, types]) => types.test(type))?.[0] ?? type;
}

/** The registered name, in lower case and without parameters. */
function normalized(type: string): string {
  const bare = bareType(type).replace('/x-', '/');
  return REGISTERED_NAMES.get(bare) ?? bare;
}

/** What is wrong with the name of a file: the rest of a sentence whose subject is the name. Undefined if nothing is. */
export function faultOfFileName(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'must be a string';
  if (name === '') return 'must not be empty';
  if (Buffer.byteLength(name) > 255) return 'must be at most 255 bytes long';
  if (/[/\\]/.test(name)) return 'must not contain "/" or "\\": it is a label, not a path';
  if (/\p{Cc}/u.test(name)) return 'must not contain control characters';
  return undefined;
}

/** What is wrong with the type of a file: the rest of a sentence whose subject is the type. Undefined if nothing is. */
export function faultOfMediaType(mimeType: unknown): string | undefined {
  if (typeof mimeType !== 'string') return 'must be a string';
  if (mimeType.length <= 255 && isMediaType(mimeType)) return undefined;
  return 'must be a media type such as "text/csv", at most 255 characters long';
}
