import type { FileSource } from '../file-source.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';

/** Characters of a text in which its root tag must begin, and characters that the tag may have. */
const PROLOGUE = 4096;
const LONGEST_TAG = 8192;

/** What may be before the root tag, by its beginning and its end. */
const BEFORE_ROOT = [
  ['<?xml', '>'],
  ['<!--', '-->'],
  ['<!DOCTYPE svg', '>'],
] as const;

/**
 * The root tag of an SVG image; undefined if a text is no SVG image. Reads every character once, because a regular expression
 * for this can take exponential time.
 */
export function rootTagOfSvg(text: string): string | undefined {
  let at = 0;
  while (at < PROLOGUE) {
    const before = BEFORE_ROOT.find(([beginning]) => text.startsWith(beginning, at));
    if (!before) break;
    const end = text.indexOf(before[1], at + before[0].length);
    if (end < 0) return undefined;
    at = end + before[1].length;
    while (at < text.length && text[at]!.trim() === '') at += 1;
  }
  if (at >= PROLOGUE || !/^<svg[\s>]/.test(text.slice(at, at + 5))) return undefined;
  const tag = text.slice(at, at + LONGEST_TAG);
  return tag.slice(0, endOfTag(tag));
}

/** The index after a tag. A `>` in quotes does not end it. */
function endOfTag(tag: string): number {
  let quote = '';
  for (let at = 0; at < tag.length; at += 1) {
    const character = tag[at]!;
    if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === '>') return at + 1;
    else if (character === '"' || character === "'") quote = character;
  }
  return tag.length;
}

/** Describes an SVG image by its root tag. */
export async function* describeSvg(file: FileSource, rootTag: string): Findings {
  const { imageSize } = await import('image-size');
  const heading = headingOf('SVG image', file);
  try {
    const { width, height } = imageSize(Buffer.from(rootTag));
    yield `${heading}${width} × ${height} pixels.`;
  } catch {
    yield `${heading}It has no size of its own (neither width and height nor a view box).`;
  }
}
