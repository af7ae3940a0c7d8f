import { Buffer } from 'node:buffer';
import type { LogSlice } from '../ports/run-store.js';

/** Text that is ready to be written. */
export interface Frames {
  text: string;
  /** How many bytes of UTF-8 it is. */
  bytes: number;
  /** `latin1` where that makes the same bytes, and makes them faster. */
  encoding: 'latin1' | 'utf8';
}

/** Line ends of Unicode that JSON leaves as they are. Many clients split lines at them, so they are written as escapes. */
const LINE_END = /[\u0085\u2028\u2029]/;
const LINE_ENDS = new RegExp(LINE_END, 'g');

/**
 * A stretch of a log as events (WHATWG HTML §9.2.5).
 *
 * @param runId where events are to have an `id:`, the run that it names
 */
export function framesOf({ lines, first }: LogSlice, runId: string | undefined): Frames {
  return runId === undefined ? plainFrames(lines) : fullFrames(lines, first, runId);
}

/** Text of ASCII as it is to be written. */
export function asciiFrames(text: string): Frames {
  return { text, bytes: text.length, encoding: 'latin1' };
}

function plainFrames(lines: string): Frames {
  return framed(lines, (text) => `data: ${text.replace(/\n/g, '\n\ndata: ')}\n\n`);
}

function fullFrames(lines: string, first: number, runId: string): Frames {
  let seq = first;
  const frame = (line: string) => `id: ${runId}.${seq++}\ndata: ${line}\n\n`;
  return framed(lines, (text) => text.split('\n').map(frame).join(''));
}

/** @param frame puts frames around lines: characters of ASCII */
function framed(lines: string, frame: (lines: string) => string): Frames {
  const bytes = Buffer.byteLength(lines);
  if (bytes === lines.length) return asciiFrames(frame(lines));
  // None of them is ASCII.
  if (LINE_END.test(lines)) return framed(withoutLineEnds(lines), frame);
  const text = frame(lines);
  return { text, bytes: bytes + text.length - lines.length, encoding: 'utf8' };
}

function withoutLineEnds(text: string): string {
  return text.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
