import { Buffer } from 'node:buffer';
import type { LogSlice } from './ports/run-store.js';

/** Text that is ready to be written, and how many bytes of UTF-8 it is. */
export interface Frames {
  text: string;
  bytes: number;
}

/** Line ends of Unicode that JSON leaves as they are. Many clients split lines at them, so they are written as escapes. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** What was made last, for any response. */
let latest: { lines: string; first: number; runId: string | undefined; frames: Frames } | undefined;

/**
 * A stretch of a log as events (WHATWG HTML §9.2.5). Followers of one run that stand at the same place share the text, and
 * with it the memory that it takes.
 *
 * @param runId where events are to have an `id:`, the run that it names
 */
export function framesOf({ lines, first }: LogSlice, runId: string | undefined): Frames {
  if (latest?.lines === lines && latest.first === first && latest.runId === runId) return latest.frames;
  const text = runId === undefined ? plainText(lines) : fullText(lines, first, runId);
  const frames = withoutLineEnds({ text, bytes: Buffer.byteLength(text) });
  latest = { lines, first, runId, frames };
  return frames;
}

/** Text of ASCII that is ready to be written. */
export function asciiFrames(text: string): Frames {
  return { text, bytes: text.length };
}

function plainText(lines: string): string {
  return `data: ${lines.replace(/\n/g, '\n\ndata: ')}\n\n`;
}

function fullText(lines: string, first: number, runId: string): string {
  let text = '';
  let seq = first;
  for (const line of lines.split('\n')) text += `id: ${runId}.${seq++}\ndata: ${line}\n\n`;
  return text;
}

function withoutLineEnds(frames: Frames): Frames {
  // ASCII has none of them.
  if (frames.bytes === frames.text.length) return frames;
  const escaped = (end: string) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const text = frames.text.replace(LINE_ENDS, escaped);
  return { text, bytes: Buffer.byteLength(text) };
}
