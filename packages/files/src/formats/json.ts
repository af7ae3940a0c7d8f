import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { block, count, opening } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { decoderOf } from './code-pages.js';
import type { Encoding } from './code-pages.js';
import { decode, exactEncoding, guessNote } from './encoding.js';
import { typeOf } from './value-shape.js';
import { JsonShape } from './json-shape.js';

const MISPLACED = 'that does not belong there';
/** The tokens by their numbers: signs, `s` for a string, and `v` for another value. */
const TOKENS = '{}[]:,vvvsv';
/** The tokens that a value begins with. */
const VALUE = '{[sv';

/** Describes JSON, or several JSON values one after another (NDJSON), reading it token by token. */
export async function* describeJson(file: FileSource, likely: Encoding): Findings {
  let encoding = likely;
  const shape = new JsonShape();
  let fault: string | undefined;
  const stopped = await untilStopped(async () => {
    encoding = await exactEncoding(bytesOf(file), likely);
    fault = await readShape(utf8Of(bytesOf(file), encoding), shape);
  });
  const hasBegun = shape.started;
  // What is open where reading ended has no end of its own.
  shape.closeAll();
  if (fault !== undefined && shape.values === 0 && !hasBegun) {
    const beginning = await file.read(0, Math.min(file.size, 1000));
    const text = decoderOf(encoding.label).decode(beginning);
    throw new UnreadableFile(`This is not JSON: ${fault}. It begins so:\n\n${opening(text, false)}`);
  }
  const several = shape.values > 1;
  const facts = [
    ...guessNote(encoding),
    several
      ? `${stopped ? 'At least ' : ''}${count(shape.values, 'value')}, one after another; together they have this shape:`
      : 'Its shape:',
  ];
  if (fault !== undefined) facts.unshift(`This JSON is broken: ${fault}. What comes before is described.`);
  const heading = headingOf(several ? 'NDJSON file' : 'JSON file', file);
  yield `${heading}${facts.join(' ')}\n\n${block(shape.toString())}`;
  if (stopped) throw stopped;
}

/** Reads to the end or to the first fault, which is returned as the end of a sentence. */
export async function readShape(
  chunks: AsyncIterable<Uint8Array>,
  shape: JsonShape,
): Promise<string | undefined> {
  const { Tokenizer } = await import('@streamparser/json');
  const tokenizer = new Tokenizer();
  let fault: { reason: string; at: number } | undefined;
  // The library's own check of the order builds all values: it takes twice the time, and more for each level of nesting.
  let allowed = VALUE;
  tokenizer.onToken = ({ token, value, offset }) => {
    if (fault) return;
    const sign = TOKENS[token]!;
    if (!allowed.includes(sign)) {
      const name = VALUE.includes(sign) ? 'a value' : sign;
      fault = { reason: `${name} ${MISPLACED}`, at: offset };
      return;
    }
    const isKey = sign === 's' && !allowed.includes('v');
    if (isKey) shape.key(String(value));
    else if (sign === '{' || sign === '[') {
      const reason = shape.open(sign === '[', offset);
      if (reason) fault = { reason, at: offset };
    } else if (sign === '}' || sign === ']') shape.close(offset + 1);
    else if (VALUE.includes(sign)) shape.scalar(typeOf(value));
    allowed = isKey ? ':' : allowedAfter(sign, shape);
  };
  tokenizer.onError = (error) => {
    // The tokenizer states the offset only in its message.
    const offset = /absolute position "(\d+)"/.exec(error.message)?.[1];
    fault ??= { reason: `a character ${MISPLACED}`, at: Number(offset ?? 0) };
  };

  const lines = new LineCounter();
  for await (const chunk of chunks) {
    tokenizer.write(chunk);
    if (fault) return `${fault.reason} at ${lines.describe(chunk, fault.at)}`;
    lines.pass(chunk);
  }
  if (!tokenizer.isEnded) tokenizer.end();
  return fault || !shape.complete ? 'it ends in the middle, as if it had been cut off' : undefined;
}

/** The tokens that may follow one of the grammar of JSON (RFC 8259), but for a key. */
function allowedAfter(sign: string, shape: JsonShape): string {
  if (sign === '{') return 's}';
  if (sign === '[') return `${VALUE}]`;
  if (sign === ',' && shape.isObject) return 's';
  if (sign === ':' || sign === ',' || !shape.started) return VALUE;
  return shape.isObject ? ',}' : ',]';
}

/** JSON as UTF-8, without a byte order mark: the tokenizer does not count it. */
export async function* utf8Of(
  chunks: AsyncIterable<Uint8Array>,
  encoding: Encoding,
): AsyncGenerator<Uint8Array> {
  for await (const text of decode(chunks, encoding)) yield Buffer.from(text);
}

/** Counts lines, so that a byte of the current chunk can be described by its line and column. */
class LineCounter {
  #offset = 0;
  #line = 1;
  #lineStart = 0;

  pass(chunk: Uint8Array): void {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) {
      this.#line += 1;
      this.#lineStart = this.#offset + at + 1;
    }
    this.#offset += chunk.length;
  }

  describe(chunk: Uint8Array, offset: number): string {
    this.pass(chunk.subarray(0, Math.max(0, offset - this.#offset)));
    const column = offset - this.#lineStart + 1;
    return `line ${this.#line.toLocaleString('en-US')}, byte ${column.toLocaleString('en-US')}`;
  }
}
