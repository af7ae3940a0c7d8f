import { QueryError } from '../contract/errors.js';

/** What the grammar of RFC 8259 allows next. From `Literal` on: the token that has begun and not ended. */
export enum State {
  Value,
  ValueOrClose,
  Name,
  NameOrClose,
  Colon,
  CommaOrClose,
  End,
  Literal,
  Number,
  String,
}

const QUOTE = 0x22;

/** What a state outside of tokens expects. `{closer}` stands for the bracket that closes the array or object. */
const EXPECTED: Record<Exclude<State, State.Literal | State.Number | State.String>, string> = {
  [State.Value]: 'a value',
  [State.ValueOrClose]: 'a value or "{closer}"',
  [State.Name]: 'a name in double quotes',
  [State.NameOrClose]: 'a name in double quotes or "{closer}"',
  [State.Colon]: '":"',
  [State.CommaOrClose]: '"," or "{closer}"',
  [State.End]: 'nothing more',
};

/**
 * Says what is expected outside of tokens.
 *
 * @param closer the byte that closes the innermost array or object; undefined outside of all
 */
export function expectedIn(state: keyof typeof EXPECTED, closer: number | undefined): string {
  const expected = EXPECTED[state];
  return closer === undefined ? expected : expected.replace('{closer}', String.fromCharCode(closer));
}

/**
 * The body is not JSON.
 *
 * @param offset of the wrong byte in the body; of its end if something is missing there
 * @param expected what was expected there instead
 * @param byte the wrong byte; undefined at the end of the body
 */
export function syntaxError(offset: number, expected: string, byte: number | undefined): QueryError {
  if (offset === 0 && byte === undefined) return new QueryError('invalid_json', 'The body is empty.');
  const found = byte === undefined ? 'the end of the body' : shown(byte);
  const detail = `The body is not JSON: at byte ${offset}, expected ${expected}, found ${found}.`;
  return new QueryError('invalid_json', detail);
}

function shown(byte: number): string {
  if (byte === QUOTE) return 'a double quote';
  if (byte > 0x20 && byte < 0x7f) return `"${String.fromCharCode(byte)}"`;
  return `the byte 0x${byte.toString(16).padStart(2, '0').toUpperCase()}`;
}
