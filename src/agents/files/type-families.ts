/** Types that are text, image, … only by another name than their first half says. */
const FAMILIES: [RegExp, string][] = [
  [/^application\/((.+\+)?(json|xml)|x-ndjson|ndjson|jsonl|javascript|sql|yaml|toml|x-sh)$/, 'text'],
  [/^image\/svg\+xml$/, 'text'],
  [/^application\/vnd\.openxmlformats-officedocument\.(\w+)/, 'office'],
  [/^application\/(zip|java-archive|epub\+zip|vnd\.oasis\.opendocument.*)$/, 'zip'],
  [/^application\/(pdf|gzip|tar|gtar)$/, ''],
  [/^(text|image|audio|video|font)\//, ''],
];

/** Ways to say that the type is not known. */
const UNKNOWN = /^(|application\/octet-stream|binary\/octet-stream|application\/(unknown|download))$/;

/**
 * Whether bytes of one type were declared as plainly another: an image as text, a PNG as a JPEG. Where the two may
 * well be the same, as with a source file declared as plain text, they do not contradict each other.
 *
 * @param declared `type/subtype`, with parameters or not
 * @param actual the type that the bytes are
 */
export function contradicts(declared: string, actual: string): boolean {
  const said = normal(declared);
  const is = normal(actual);
  if (UNKNOWN.test(said) || said === is) return false;
  const family = familyOf(said);
  if (family === undefined || familyOf(is) === undefined) return false;
  // A spreadsheet program declares its exports as its own format.
  return family !== familyOf(is) || family === 'image';
}

function familyOf(type: string): string | undefined {
  for (const [pattern, family] of FAMILIES) {
    const match = pattern.exec(type);
    if (match) return family === 'office' ? type : family || match[1];
  }
  return undefined;
}

/** Without parameters, in lower case, and by the one name that is registered. */
function normal(type: string): string {
  const bare = type.split(';')[0]!.trim().toLowerCase().replace('/x-', '/');
  const registered: Record<string, string> = {
    'image/jpg': 'image/jpeg',
    'image/pjpeg': 'image/jpeg',
    'image/ms-bmp': 'image/bmp',
    'image/heif': 'image/heic',
    'image/icon': 'image/vnd.microsoft.icon',
    'application/zip-compressed': 'application/zip',
    'application/gtar': 'application/tar',
    'application/tgz': 'application/gzip',
  };
  return registered[bare] ?? bare;
}
