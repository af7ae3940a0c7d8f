import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { block, count, opening } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { decode } from './encoding.js';
import type { Encoding } from './encoding.js';
import { JsonFault, JsonShape } from './json-shape.js';

/** Describes JSON, or several JSON values one after another (NDJSON), reading it token by token. */
export async function* describeJson(file: FileSource, encoding: Encoding): Findings {
  const shape = new JsonShape();
  let fault: string | undefined;
  const stopped = await untilStopped(async () => {
    fault = await readShape(file, encoding, shape);
  });
  const hasBegun = shape.started;
  // What is open where reading ended has no end of its own.
  shape.closeAll();
  if (fault !== undefined && shape.values === 0 && !hasBegun) {
    const beginning = await file.read(0, Math.min(file.size, 1000));
    const text = new TextDecoder(encoding.label).decode(beginning);
    throw new UnreadableFile(`This is not JSON: ${fault}. It begins so:\n\n${opening(text, false)}`);
  }
  const several = shape.values > 1;
  const facts = [
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
async function readShape(
  file: FileSource,
  encoding: Encoding,
  shape: JsonShape,
): Promise<string | undefined> {
  const { Tokenizer } = await import('@streamparser/json');
  const tokenizer = new Tokenizer();
  let stopped: Error | undefined;
  let tokenAt = 0;
  tokenizer.onToken = (token) => {
    if (stopped) return;
    tokenAt = token.offset;
    try {
      shape.add(token.token, token.value);
    } catch (error) {
      stopped = error as Error;
    }
  };
  tokenizer.onError = (error) => {
    stopped ??= error;
  };

  const lines = new LineCounter();
  for await (const chunk of utf8Of(file, encoding)) {
    tokenizer.write(chunk);
    if (stopped) return `${reasonOf(stopped)} at ${lines.describe(chunk, offsetOf(stopped, tokenAt))}`;
    lines.pass(chunk);
  }
  if (!tokenizer.isEnded) tokenizer.end();
  return stopped || !shape.complete ? 'it ends in the middle, as if it had been cut off' : undefined;
}

async function* utf8Of(file: FileSource, encoding: Encoding): AsyncGenerator<Uint8Array> {
  if (encoding.label === 'utf-8') yield* bytesOf(file);
  else for await (const text of decode(bytesOf(file), encoding)) yield Buffer.from(text);
}

function reasonOf(error: Error): string {
  return error instanceof JsonFault ? error.message : 'a character that does not belong there';
}

/** The tokenizer states the offset of a fault only in its message. */
function offsetOf(error: Error, tokenAt: number): number {
  const offset = /absolute position "(\d+)"/.exec(error.message)?.[1];
  return offset === undefined ? tokenAt : Number(offset);
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
