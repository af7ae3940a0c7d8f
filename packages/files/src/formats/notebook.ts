import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { code, count, opening } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';
import { DocumentDigest } from './document-digest.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';

const KEPT = 1000;

/** Describes a Jupyter notebook (nbformat 4): language, cells, headings, outputs and how its code begins. */
export async function* describeNotebook(file: FileSource): Findings {
  const notebook = new Notebook();
  let isBroken = false;
  const stopped = await untilStopped(async () => {
    isBroken = !(await readNotebook(bytesOf(file), notebook));
  });
  if (isBroken && notebook.cells === 0)
    throw new UnreadableFile('This notebook is broken or cut off: no cell of it can be read.');
  const problem = isBroken ? 'This notebook is broken or cut off. Before that it holds: ' : '';
  yield `${headingOf('Jupyter notebook', file)}${problem}${notebook.toMarkdown(!isBroken && !stopped)}`;
  if (stopped) throw stopped;
}

/** Receives the parts of a notebook, which may be of any type. */
interface NotebookListener {
  addMetadata(metadata: unknown): void;
  addCell(cell: unknown): void;
}

/** Reads a notebook as it arrives. @returns whether it was read to the end */
export async function readNotebook(
  chunks: AsyncIterable<Uint8Array>,
  notebook: NotebookListener,
): Promise<boolean> {
  const { JSONParser } = await import('@streamparser/json');
  const parser = new JSONParser({
    // Cells of nbformat 3 are in worksheets.
    paths: ['$.cells.*', '$.worksheets.*.cells.*', '$.metadata'],
    keepStack: false,
  });
  let isBroken = false;
  parser.onError = () => (isBroken = true);
  parser.onValue = ({ key, value }) => {
    if (key === 'metadata') notebook.addMetadata(value);
    else notebook.addCell(value);
  };
  for await (const chunk of chunks) {
    parser.write(chunk);
    if (isBroken) return false;
  }
  if (!parser.isEnded) parser.end();
  return !isBroken;
}

/** The text of a cell, and the texts that it has put out. */
export function textsOfCell(cell: unknown): { text: string; isOutput: boolean }[] {
  const outputs = field(cell, 'outputs');
  const shown = (Array.isArray(outputs) ? outputs : []).map((output: unknown) =>
    textOf(field(output, 'text') ?? field(field(output, 'data'), 'text/plain') ?? field(output, 'evalue')),
  );
  const all = [sourceOf(cell), ...shown].map((text, at) => ({ text, isOutput: at > 0 }));
  return all.filter(({ text }) => text !== '');
}

/** Collects what is said of a notebook, whose values may be of any type. */
class Notebook implements NotebookListener {
  cells = 0;
  readonly #kinds = new Map<string, number>();
  readonly #outputs = new Map<string, number>();
  readonly #digest = new DocumentDigest();
  #language = '';
  #kernel = '';
  #code = '';
  #hasMoreCode = false;

  addMetadata(metadata: unknown): void {
    const language = field(field(metadata, 'language_info'), 'name');
    const kernel = field(field(metadata, 'kernelspec'), 'display_name');
    if (typeof language === 'string') this.#language = language;
    if (typeof kernel === 'string') this.#kernel = kernel;
  }

  addCell(cell: unknown): void {
    this.cells += 1;
    const kind = field(cell, 'cell_type');
    const source = sourceOf(cell);
    tally(this.#kinds, kind === 'code' || kind === 'markdown' || kind === 'raw' ? kind : 'other');
    if (kind === 'markdown') this.#addHeadings(source);
    if (kind !== 'code') return;
    if (this.#code.length < KEPT) this.#code += `${source.slice(0, KEPT)}\n\n`;
    else this.#hasMoreCode = true;
    const outputs = field(cell, 'outputs');
    for (const output of Array.isArray(outputs) ? outputs : []) tally(this.#outputs, kindOfOutput(output));
  }

  toMarkdown(isWhole: boolean): string {
    const facts: string[] = [];
    if (this.#language) facts.push(`Language: ${code(this.#language, 40)}.`);
    if (this.#kernel) facts.push(`Kernel: ${code(this.#kernel, 80)}.`);
    const kinds = [...this.#kinds].map(([kind, amount]) => `${amount.toLocaleString('en-US')} ${kind}`);
    facts.push(
      `${isWhole ? '' : 'At least '}${count(this.cells, 'cell')}${kinds.length > 0 ? `: ${kinds.join(', ')}` : ''}.`,
    );
    const outputs = [...this.#outputs].map(([kind, amount]) => count(amount, kind));
    if (outputs.length > 0) facts.push(`Outputs: ${outputs.join(', ')}.`);
    const parts = [facts.join(' '), this.#digest.outline()];
    const beginning = this.#code.trim();
    if (beginning !== '') {
      const fence = /^[a-z]{1,20}$/.test(this.#language) ? this.#language : 'text';
      parts.push(`Its code begins:\n\n${opening(beginning, isWhole && !this.#hasMoreCode, fence)}`);
    }
    return parts.filter((part) => part !== '').join('\n\n');
  }

  #addHeadings(source: string): void {
    for (const line of source.split('\n')) {
      const [, marks = '', text = ''] = /^(#{1,6}) (.*)/.exec(line) ?? [];
      if (text.trim() === '') continue;
      this.#digest.add(text);
      this.#digest.endParagraph(marks.length - 1);
    }
  }
}

function kindOfOutput(output: unknown): string {
  if (field(output, 'output_type') === 'error') return 'error';
  const data = field(output, 'data');
  const types = typeof data === 'object' && data !== null ? Object.keys(data) : [];
  if (types.some((type) => type.startsWith('image/'))) return 'picture';
  return types.includes('text/html') ? 'table or page' : 'text';
}

function tally(amounts: Map<string, number>, kind: string): void {
  amounts.set(kind, (amounts.get(kind) ?? 0) + 1);
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function sourceOf(cell: unknown): string {
  return textOf(field(cell, 'source') ?? field(cell, 'input'));
}

/** A text, which may be stored as an array of its lines. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value) ? value.filter((line) => typeof line === 'string').join('') : '';
}
