import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { block, bytes, plain } from '../markdown.js';
import { UnreadableFile } from '../unreadable-file.js';
import { exactEncoding, textOf } from './encoding.js';
import type { Encoding } from './code-pages.js';
import type { Findings } from './findings.js';
import { shapeOf } from './value-shape.js';
import { describeTextFile } from './text.js';

/** Bytes of a file whose shape is found. The parsers need all of it in memory, and many times its size. */
const LARGEST = 512 * 1024;
/** Levels of nesting that are read. */
const DEEPEST = 100;
/** How often one anchor of a YAML file may be repeated; more would be a bomb. */
const ALIASES = 100;

/** Describes a YAML or TOML file as a text, and by the shape of its data. */
export async function* describeStructured(
  file: FileSource,
  encoding: Encoding,
  language: 'YAML' | 'TOML',
): Findings {
  yield* describeTextFile(file, encoding);
  if (file.size > LARGEST) {
    yield `\n\nIts shape is not described: it has more than ${bytes(LARGEST)}.`;
    return;
  }
  let text = '';
  for await (const piece of textOf(file, await exactEncoding(bytesOf(file), encoding))) text += piece;
  const values = language === 'YAML' ? await yamlValues(text) : await tomlValues(text);
  if (values.length === 0) return;
  const several =
    values.length > 1 ? `${values.length.toLocaleString('en-US')} documents, together of this` : 'Its';
  yield `\n\n${several} shape:\n\n${block(shapeOf(values))}`;
}

async function yamlValues(text: string): Promise<unknown[]> {
  const { parseAllDocuments } = await import('yaml');
  try {
    const documents = parseAllDocuments(text, { logLevel: 'silent', uniqueKeys: false });
    return [...documents].map((document) => {
      const [error] = document.errors;
      if (error) throw error;
      return document.toJS({ maxAliasCount: ALIASES }) as unknown;
    });
  } catch (error) {
    // The library reports aliases that repeat too much as a ReferenceError. Deep nesting exhausts the stack: a RangeError.
    if (error instanceof RangeError) throw broken('YAML', 'it is nested too deeply');
    const isOfLibrary = error instanceof Error && /^(ReferenceError|YAMLParseError)$/.test(error.name);
    throw isOfLibrary ? broken('YAML', error.message) : error;
  }
}

async function tomlValues(text: string): Promise<unknown[]> {
  const { parse, TomlError } = await import('smol-toml');
  try {
    return [parse(text, { maxDepth: DEEPEST })];
  } catch (error) {
    throw error instanceof TomlError ? broken('TOML', error.message) : error;
  }
}

/** The first line of the message of a library says what is wrong, and where. */
function broken(language: string, message: string): UnreadableFile {
  const [first = ''] = message.split('\n');
  return new UnreadableFile(
    `Its shape is not described, because this ${language} is broken: ${plain(first.replace(/[:.]$/, ''), 200)}.`,
  );
}
