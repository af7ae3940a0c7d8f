import type { ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';
import { EventLoopShare } from '../platform/event-loop-share.js';
import { hasLeft } from '../platform/host.js';
import { textForLog } from '../platform/text-for-log.js';
import type { Piece } from '../platform/write-json.js';

/** How many characters are written at once, at least. */
export const WRITTEN_LENGTH = 64 * 1024;

const logger = new Logger('Query');

/**
 * Joins pieces to texts of at least `WRITTEN_LENGTH` characters, of which the last one is shorter. Reads the long texts among them.
 * Other requests have their turn meanwhile.
 *
 * @example
 * for await (const text of joinedPieces(pieces)) await write(text);
 */
export async function* joinedPieces(pieces: Iterable<Piece>): AsyncGenerator<string> {
  const share = new EventLoopShare();
  let text = '';
  for (const piece of pieces) {
    for await (const part of typeof piece === 'string' ? [piece] : piece) {
      text += part;
      if (share.isUsedUp) await share.next();
      if (text.length < WRITTEN_LENGTH) continue;
      yield text;
      text = '';
    }
  }
  yield text;
}

/**
 * Writes texts to a response, whose headers were sent, as fast as its caller reads, and ends it. If a text cannot be read any more,
 * the connection is cut: the caller must not take what was sent for the whole.
 */
export async function writePieces(response: ServerResponse, texts: AsyncIterable<string>): Promise<void> {
  try {
    for await (const text of texts) {
      if (!response.write(text)) await drained(response);
      if (hasLeft(response)) return;
    }
    response.end();
  } catch (error) {
    logger.warn(`An answer was cut: ${textForLog((error as Error).message)}`);
    response.destroy();
  }
}

/** Resolves when a response takes more, or its caller has left. */
async function drained(response: ServerResponse): Promise<void> {
  if (hasLeft(response)) return;
  await new Promise<void>((resolve) => {
    const settle = () => {
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.on('drain', settle).on('close', settle);
  });
}
