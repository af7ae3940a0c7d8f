import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { code, count, table } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';
import { exactEncoding, textOf } from './encoding.js';
import type { Encoding } from './code-pages.js';
import type { Findings } from './findings.js';
import { describeTextFile } from './text.js';
import { readXmlText } from './xml.js';

/** Different paths of elements that are counted, and repeated elements that are shown. */
const PATHS = 1000;
const SHOWN = 10;
/** Characters of a path. */
const LONGEST = 1000;

/** What is in an XML file. */
class Elements {
  total = 0;
  deepest = 0;
  root = '';
  namespace = '';
  readonly #times = new Map<string, number>();
  readonly #open: string[] = [];

  open(name: string, attributes: Record<string, string>, tag = name): void {
    if (this.total === 0) {
      this.root = tag;
      this.namespace = attributes[tag === name ? 'xmlns' : `xmlns:${tag.slice(0, -name.length - 1)}`] ?? '';
    }
    this.total += 1;
    const path = `${this.#open.at(-1) ?? ''}/${tag}`.slice(-LONGEST);
    this.#open.push(path);
    this.deepest = Math.max(this.deepest, this.#open.length);
    const times = this.#times.get(path);
    if (times !== undefined || this.#times.size < PATHS) this.#times.set(path, (times ?? 0) + 1);
  }

  close(): void {
    this.#open.pop();
  }

  /** The elements that occur more than once, the most frequent first. */
  repeated(): string[][] {
    const several = [...this.#times].filter(([, times]) => times > 1).sort(([, a], [, b]) => b - a);
    return several
      .slice(0, SHOWN)
      .map(([path, times]) => [
        code(path, 120),
        times.toLocaleString('en-US'),
        String(path.split('/').length - 1),
      ]);
  }
}

/** Describes an XML file as a text, and by its elements. */
export async function* describeXml(file: FileSource, likely: Encoding): Findings {
  yield* describeTextFile(file, likely);
  const elements = new Elements();
  let fault = '';
  const stopped = await untilStopped(async () => {
    const text = textOf(file, await exactEncoding(bytesOf(file), likely));
    const listener = {
      open: elements.open.bind(elements),
      close: elements.close.bind(elements),
    };
    await readXmlText(text, listener).catch((error: unknown) => {
      if (!(error instanceof UnreadableFile)) throw error;
      fault = ' Only what comes before a fault of this XML is counted.';
    });
  });
  if (elements.total > 0) {
    const { root, namespace, total, deepest } = elements;
    const inNamespace = namespace ? `, of the namespace ${code(namespace, 200)}` : '';
    const atLeast = stopped || fault ? 'At least ' : '';
    const facts = `${atLeast}${count(total, 'element')} on ${count(deepest, 'level')}.${fault}`;
    yield `\n\nRoot element: ${code(root, 100)}${inNamespace}. ${facts}`;
    const rows = elements.repeated();
    if (rows.length > 0) yield `\n\nRepeated elements:\n\n${table(['path', 'times', 'level'], rows)}`;
  }
  if (stopped) throw stopped;
}
