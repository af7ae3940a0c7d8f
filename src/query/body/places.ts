/**
 * How a string of a document is read:
 *
 * - `text` is counted against the limit of one text;
 * - `base64` is decoded while it arrives (RFC 4648 §4);
 * - `dataUrl` is decoded if it is a `data:` URL with base64 (RFC 2397), and any other string is kept as it is;
 * - `file` is decoded in both forms: a `data:` URL, or base64 alone.
 */
export type StringKind = 'text' | 'base64' | 'dataUrl' | 'file';

/** A place of a document: what is said about its value, or about what is inside of its value. */
export interface BodyPlace {
  kind?: StringKind;
  /** Whether the items of the array count as the parts of a query. */
  hasParts?: true;
  /** The place of every item, if the value is an array. */
  items?: BodyPlace;
  /** The places of members, if the value is an object. */
  members?: Map<string, BodyPlace>;
}

/**
 * The places of a document whose strings are counted or decoded while they arrive.
 *
 * @param paths the names of members from the body on, separated by dots; `*` stands for every item of an array
 *
 * @example
 * const places = placesOf({ 'messages.*.parts.*.url': 'dataUrl', 'messages.*.parts.*.text': 'text' });
 */
export function placesOf(paths: Readonly<Record<string, StringKind>>): BodyPlace {
  const body: BodyPlace = {};
  for (const [path, kind] of Object.entries(paths)) path.split('.').reduce(placeIn, body).kind = kind;
  return body;
}

function placeIn(place: BodyPlace, name: string): BodyPlace {
  if (name === '*') return (place.items ??= {});
  place.members ??= new Map();
  const found = place.members.get(name) ?? {};
  place.members.set(name, found);
  return found;
}

/** Those of the body of `POST {base}/query`. */
export const QUERY_PLACES = placesOf({ 'parts.*.text': 'text', 'parts.*.base64': 'base64' });
QUERY_PLACES.members!.get('parts')!.hasParts = true;
