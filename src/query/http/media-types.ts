/** Declared types that say nothing about the bytes. */
const GENERIC = new Set(['application/octet-stream', 'application/binary', 'binary/octet-stream', '*/*']);

/** Containers: what is declared to be of a type of its own may well be one of these inside. */
const CONTAINERS = new Set([
  'application/zip',
  'application/gzip',
  'application/xml',
  'application/x-cfb',
  'application/x-tar',
  'video/mp4',
  'application/ogg',
  'video/x-ms-asf',
  'audio/x-ms-asf',
]);

/**
 * Whether a declared media type is plainly wrong, given the type that the bytes have. Declared types that say nothing,
 * containers that many types use, and other names or kinds of one family (`audio/x-wav` and `audio/wav`, `video/ogg` and
 * `audio/ogg`) are given the benefit of the doubt.
 *
 * @param declared as the caller sent it, with parameters or without
 * @param detected as the first bytes of the file tell it
 */
export function isPlainlyAnother(declared: string, detected: string): boolean {
  const said = essence(declared);
  const found = essence(detected);
  if (GENERIC.has(said) || CONTAINERS.has(found)) return false;
  return subtype(said) !== subtype(found) && !sameFamily(said, found);
}

function essence(mediaType: string): string {
  return mediaType.split(';', 1)[0]!.trim().toLowerCase();
}

function subtype(mediaType: string): string {
  return mediaType.split('/')[1]!.replace(/^(?:x-|vnd\.)/, '');
}

/** Sound and film share containers and have many names; pictures, documents and programs do not. */
function sameFamily(said: string, found: string): boolean {
  const family = (mediaType: string) => (/^(?:audio|video)\//.test(mediaType) ? 'media' : mediaType);
  return family(said) === family(found);
}
