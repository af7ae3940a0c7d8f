import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { ByteQueue } from './byte-queue.js';

const EXTENSION = 0x21;
const GRAPHIC_CONTROL = 0xf9;
const PICTURE = 0x2c;

/** What moves in a GIF (version 89a), as far as it could be read. */
export interface GifAnimation {
  frames: number;
  /** Seconds that all frames are shown once. */
  seconds: number;
}

/** Counts the frames of a GIF. Its pixels are not decoded. A broken one is read as far as possible. */
export async function readAnimation(file: FileSource): Promise<GifAnimation> {
  const bytes = new ByteQueue(bytesOf(file));
  const animation = { frames: 0, seconds: 0 };
  const screen = await bytes.take(13);
  await bytes.skip(coloursOf(screen[10] ?? 0));
  for (;;) {
    const [kind] = await bytes.take(1);
    if (kind === EXTENSION) {
      const [label] = await bytes.take(1);
      const first = await block(bytes);
      if (label === GRAPHIC_CONTROL) animation.seconds += (first[1]! + first[2]! * 256 || 0) / 100;
      if (first.length > 0) await skipBlocks(bytes);
    } else if (kind === PICTURE) {
      const descriptor = await bytes.take(9);
      // A colour table, and the size of the codes of the pixels.
      await bytes.skip(coloursOf(descriptor[8] ?? 0) + 1);
      await skipBlocks(bytes);
      animation.frames += 1;
    } else return animation;
  }
}

/** Bytes of the colour table that follows. */
function coloursOf(flags: number): number {
  return flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0;
}

async function block(bytes: ByteQueue): Promise<Uint8Array> {
  const [length = 0] = await bytes.take(1);
  return bytes.take(length);
}

async function skipBlocks(bytes: ByteQueue): Promise<void> {
  while ((await block(bytes)).length > 0);
}
