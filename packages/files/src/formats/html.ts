import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { code, count } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import { DocumentDigest } from './document-digest.js';
import { exactEncoding, guessNote, textOf } from './encoding.js';
import type { Encoding } from './code-pages.js';
import { headingOf, titleFact } from './findings.js';
import type { Findings } from './findings.js';
import { noFacts, readHtml } from './html-reader.js';

/** Whether a text without a label is an HTML page. */
export function looksLikeHtml(text: string): boolean {
  return /^(<\?xml[^>]{0,200}\?>\s*)?<(!doctype html|html)[\s>]/i.test(text);
}

/** Describes an HTML page: title, headings, tables and how its text begins. */
export async function* describeHtml(file: FileSource, likely: Encoding): Findings {
  let encoding = likely;
  const digest = new DocumentDigest();
  const facts = noFacts();
  const stopped = await untilStopped(async () => {
    encoding = await exactEncoding(bytesOf(file), likely);
    await readHtml(textOf(file, encoding), digest, facts);
  });
  const sentences = titleFact(facts.title.trim());
  if (facts.description.trim()) sentences.push(`Description: ${code(facts.description.trim(), 200)}.`);
  if (facts.language) sentences.push(`Language: ${code(facts.language, 20)}.`);
  const amounts = (['link', 'image', 'form', 'script'] as const)
    .filter((noun) => facts[`${noun}s`] > 0)
    .map((noun) => count(facts[`${noun}s`], noun));
  if (amounts.length > 0) sentences.push(`${amounts.join(', ')}.`);
  sentences.push(`Encoding: ${encoding.name}.`, ...guessNote(encoding));
  yield `${headingOf('HTML page', file)}${digest.toMarkdown(sentences, !stopped)}`;
  if (stopped) throw stopped;
}
