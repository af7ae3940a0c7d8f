import { Buffer } from 'node:buffer';
import type { Piece } from '../platform/write-json.js';
import type { LogSlice } from '../ports/run-store.js';

/** Events as they are written (WHATWG HTML §9.2.5). */
export interface Frames {
  text: string;
  /** The length of the text in bytes of UTF-8. */
  bytes: number;
  /** `latin1` if the text is ASCII: the bytes are the same, and Node makes them faster. */
  encoding: 'latin1' | 'utf8';
  /** What follows the text, from its first long text on. Default: nothing. */
  rest?: readonly Piece[];
}

/** Line ends of Unicode that JSON does not escape. Many clients split lines at them, so they are written as escapes. */
const LINE_END = /[\u0085\u2028\u2029]/;
const LINE_ENDS = new RegExp(LINE_END, 'g');

/**
 * Frames a slice of a log as events (WHATWG HTML §9.2.5).
 *
 * @param runId the run that the `id:` of each event names; undefined for events without an `id:`
 */
export function framesOf({ lines, first }: LogSlice, runId: string | undefined): Frames {
  if (runId !== undefined) return framed(lines, (text) => fullFrames(text, first, runId));
  return framed(lines, (text) => `data: ${text.replace(/\n/g, '\n\ndata: ')}\n\n`);
}

/**
 * Makes frames of text that is written as it is. Line ends of Unicode, at which many clients split lines, are written as the
 * escapes of JSON.
 *
 * @example
 * framesOfText('data: {"type":"start"}\n\n'); // { bytes: 24, encoding: 'latin1', … }
 */
export function framesOfText(text: string): Frames {
  return framed(text, (frames) => frames);
}

/** ASCII text that is a frame already. */
export function asciiFrames(text: string): Frames {
  return { text, bytes: text.length, encoding: 'latin1' };
}

function fullFrames(text: string, first: number, runId: string): string {
  let frames = '';
  let seq = first;
  for (let at = 0; at <= text.length;) {
    const found = text.indexOf('\n', at);
    const end = found === -1 ? text.length : found;
    frames += `id: ${runId}.${seq++}\ndata: ${text.slice(at, end)}\n\n`;
    at = end + 1;
  }
  return frames;
}

/** @param frame adds the frames, which are ASCII, to lines */
function framed(lines: string, frame: (lines: string) => string): Frames {
  const bytes = Buffer.byteLength(lines);
  if (bytes === lines.length) return asciiFrames(frame(lines));
  // No line end of Unicode is ASCII, so ASCII text need not be searched for them.
  if (LINE_END.test(lines)) return framed(lines.replace(LINE_ENDS, escaped), frame);
  const text = frame(lines);
  return { text, bytes: bytes + text.length - lines.length, encoding: 'utf8' };
}

function escaped(lineEnd: string): string {
  return `\\u${lineEnd.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
