import { hash, randomBytes } from 'node:crypto';

/**
 * An API key as the service knows it. The key itself is not kept anywhere.
 *
 * @example
 * const key: ApiKey = { name: 'ann', sha256: createHash('sha256').update(text).digest('hex') };
 */
export interface ApiKey {
  /** Who has the key: 1 to 64 letters, digits, `_`, `-` or `.`. Its owner is `key:<name>`. */
  name: string;
  /** The SHA-256 digest of the key, as 64 hexadecimal digits. */
  sha256: string;
}

/** How every generated key begins, so that people and secret scanners recognise it. */
const KEY_PREFIX = 'naq_';
const KEY_BYTES = 32;

const NAME = /^[\w.-]{1,64}$/;
const SHA256 = /^[0-9a-f]{64}$/i;

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
 * Reads keys in the form `name:sha256,name:sha256`, as `API_KEYS` has them. White space around an entry is ignored.
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
 * Reads keys in the form of a file: `name:sha256` in each line. A line that is blank or begins with `#` is ignored.
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
  const isText = ({ name, sha256 }: ApiKey) => typeof name === 'string' && typeof sha256 === 'string';
  return checked(
    keys.map((key, index) => ({
      where: `key ${index + 1}`,
      entry: isText(key) ? `${key.name}:${key.sha256}` : '',
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
  const isFirst = (what: string, value: string, where: string) => {
    const first = placeOf.get(`${what} ${value}`);
    if (first !== undefined) faults.push(`${where} has the same ${what} as ${first}.`);
    else placeOf.set(`${what} ${value}`, where);
  };
  const keys = entries.map(({ where, entry }) => {
    const [name = '', digest = '', ...rest] = entry.split(':');
    const sha256 = digest.toLowerCase();
    if (!isName(name)) faults.push(`${where} must be name:sha256, where the name has ${NAME_RULE}.`);
    else if (!SHA256.test(sha256) || rest.length > 0)
      faults.push(`${where} must be name:sha256, where sha256 has 64 hexadecimal digits.`);
    else {
      isFirst('name', name, where);
      isFirst('digest', sha256, where);
    }
    return { name, sha256 };
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

/** A key in the place of its name would be shown in logs and stored with every run. */
function isName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name) && !name.startsWith(KEY_PREFIX);
}
