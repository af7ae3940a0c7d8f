import { hash, randomBytes } from 'node:crypto';

/**
 * An API key as the service knows it. The key itself is not kept anywhere.
 *
 * @example
 * const key: ApiKey = { name: 'ann', sha256: createHash('sha256').update(text).digest('hex') };
 */
export interface ApiKey {
  /**
   * Who has the key: 1 to 64 letters, digits, `_`, `-` or `.`. Its owner is `key:<name>`. Several keys may have the same name: an old
   * one and a new one, for example.
   */
  name: string;
  /** The SHA-256 digest of the key, as 64 hexadecimal digits. */
  sha256: string;
  /**
   * From when on the key is refused: a time, `2027-01-31T18:00:00Z`, or a day, `2027-01-31`, whose end in UTC counts (RFC 3339).
   * Default: never.
   */
  expires?: string | undefined;
}

/** How every generated key begins, so that people and secret scanners recognise it. */
const KEY_PREFIX = 'naq_';
const KEY_BYTES = 32;

const NAME = /^[\w.-]{1,64}$/;
const SHA256 = /^[0-9a-f]{64}$/i;
const EXPIRY =
  /^(\d{4}-\d\d-\d\d)(T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/i;
const DAY_MS = 86_400_000;

/**
 * Generates an API key.
 *
 * @param name who gets the key: 1 to 64 letters, digits, `_`, `-` or `.`
 * @returns the key, which is shown once, and what is configured
 * @throws {TypeError} the name has another form
 *
 * @example
 * const { key, configured } = createApiKey('ann');
 * console.log(key, `API_KEYS=${configured.name}:${configured.sha256}`);
 */
export function createApiKey(name: string): { key: string; configured: ApiKey } {
  if (!isName(name)) throw new TypeError(`The name of the key is not valid: it must have ${NAME_RULE}.`);
  const key = KEY_PREFIX + randomBytes(KEY_BYTES).toString('base64url');
  return { key, configured: { name, sha256: digestOf(key).toString('hex') } };
}

/** The SHA-256 digest of a key as it came in a header: Node reads each byte of a header as one character. */
export function digestOf(key: string): Buffer {
  return hash('sha256', Buffer.from(key, 'latin1'), 'buffer');
}

/**
 * From when on a key is refused, in milliseconds of Unix; Infinity if it never expires.
 *
 * @returns NaN if the text has another form, or names a day that no calendar has
 */
export function expiryOf(expires: string | undefined): number {
  if (expires === undefined) return Infinity;
  const [, day = '', time] = EXPIRY.exec(expires) ?? [];
  const begin = Date.parse(day);
  // Some days that do not exist are read as days of the next month.
  if (Number.isNaN(begin) || new Date(begin).toISOString().slice(0, day.length) !== day) return NaN;
  return time === undefined ? begin + DAY_MS : Date.parse(expires.toUpperCase());
}

/** A key as `API_KEYS` and a file have it. */
export function textOfKey({ name, sha256, expires }: ApiKey): string {
  return [name, sha256, ...(expires === undefined ? [] : [expires])].join(':');
}

/**
 * Reads keys in the form `name:sha256,name:sha256:2027-01-31`, as `API_KEYS` has them. White space around an entry is ignored.
 *
 * @throws {TypeError} with a sentence for each faulty entry, by its number: the entry itself could contain a key
 *
 * @example
 * AccessModule.forRootAsync({
 *   inject: [ConfigService],
 *   useFactory: (config: ConfigService) => ({ keys: apiKeysOf(config.get('API_KEYS')) }),
 * })
 */
export function apiKeysOf(text = ''): ApiKey[] {
  if (text.trim() === '') return [];
  return checked(
    text.split(',').map((entry, index) => ({ where: `entry ${index + 1}`, entry: entry.trim() })),
  );
}

/**
 * Reads keys in the form of a file: `name:sha256` or `name:sha256:2027-01-31` in each line. A line that is blank or begins with
 * `#` is ignored.
 *
 * @throws {TypeError} with a sentence for each faulty line, by its number
 */
export function apiKeysOfFile(text: string): ApiKey[] {
  const lines = text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map((line, index) => ({ where: `line ${index + 1}`, entry: line.trim() }));
  return checked(lines.filter(({ entry }) => entry !== '' && !entry.startsWith('#')));
}

/**
 * Checks keys that code gives, and those of several sources together.
 *
 * @throws {TypeError} with a sentence for each faulty key, by its number
 */
export function checkedKeys(keys: readonly ApiKey[]): ApiKey[] {
  const isText = ({ name, sha256, expires = '' }: ApiKey) =>
    [name, sha256, expires].every((each) => typeof each === 'string');
  return checked(
    keys.map((key, index) => ({
      where: `key ${index + 1}`,
      entry: isText(key) ? textOfKey(key) : '',
    })),
  );
}

interface Entry {
  /** Where the entry stands, for errors. */
  where: string;
  entry: string;
}

function checked(entries: Entry[]): ApiKey[] {
  const faults: string[] = [];
  const placeOf = new Map<string, string>();
  const keys = entries.map(({ where, entry }) => {
    const [name = '', digest = '', ...rest] = entry.split(':');
    const sha256 = digest.toLowerCase();
    const expires = rest.length > 0 ? rest.join(':') : undefined;
    const first = placeOf.get(sha256);
    if (!isName(name)) faults.push(`${where} must be name:sha256, where the name has ${NAME_RULE}.`);
    else if (!SHA256.test(sha256))
      faults.push(`${where} must be name:sha256, where sha256 has 64 hexadecimal digits.`);
    else if (Number.isNaN(expiryOf(expires)))
      faults.push(`${where} must be name:sha256 or name:sha256:expiry, where expiry is ${EXPIRY_RULE}.`);
    else if (first !== undefined) faults.push(`${where} has the same digest as ${first}.`);
    else placeOf.set(sha256, where);
    return { name, sha256, ...(expires !== undefined && { expires }) };
  });
  if (faults.length > 0) throw new TypeError(listOf(faults));
  return keys;
}

/** A file that has no keys at all would make a long list. */
function listOf(faults: string[]): string {
  const more = faults.length - SHOWN_FAULTS;
  return [...faults.slice(0, SHOWN_FAULTS), ...(more > 0 ? [`And ${more} more faults.`] : [])].join(' ');
}

const SHOWN_FAULTS = 10;

const NAME_RULE = `1 to 64 letters, digits, "_", "-" or ".", and does not begin with "${KEY_PREFIX}"`;

const EXPIRY_RULE = 'a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z';

/** A key in the place of its name would be shown in logs and stored with every run. */
function isName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name) && !name.startsWith(KEY_PREFIX);
}
