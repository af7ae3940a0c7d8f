import type { FileSource } from '../file-source.js';
import { count } from '../markdown.js';
import { UnreadableFile } from '../unreadable-file.js';
import { describeBinary } from './binary.js';
import { exifFacts } from './exif.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { readAnimation } from './gif.js';
import { durationOf } from './media.js';
import { tiffFacts } from './tiff.js';

/** Bytes that contain the size of a picture, which follows its colour profile and preview. */
const HEADER = 4 * 1024 * 1024;
/** Bytes of a TIFF that are searched: its directory may be at the end. */
const WHOLE = 64 * 1024 * 1024;

/** Describes a picture from its header: its size, and how it was taken. Its pixels are not decoded. */
export async function* describeImage(file: FileSource, mimeType: string): Findings {
  const { imageSize } = await import('image-size');
  const format = formatOf(mimeType);
  const header = await file.read(0, Math.min(file.size, mimeType === 'image/tiff' ? WHOLE : HEADER));
  let found: ReturnType<typeof imageSize>;
  try {
    found = imageSize(header);
  } catch (error) {
    // The library reads fewer kinds of pictures than have a type.
    if (error instanceof TypeError && /unsupported/.test(error.message))
      return yield* describeBinary(file, { mime: mimeType, ext: format });
    throw new UnreadableFile(`This ${format} image is broken: its width and height cannot be read.`);
  }
  const { width, height, orientation = 1 } = found;
  const facts = [`${width} × ${height} pixels`];
  // EXIF 2.32, 4.6.4 A: orientations from 5 on mean that the picture is shown rotated by 90 degrees.
  if (orientation >= 5) facts.push(`shown turned, as ${height} × ${width}`);
  if (found.images && found.images.length > 1)
    facts.push(`${count(found.images.length, 'picture')} in the file`);
  const animation = mimeType === 'image/gif' ? await readAnimation(file) : undefined;
  if (animation && animation.frames > 1) {
    facts.push(`${count(animation.frames, 'frame')} in ${durationOf(animation.seconds)}`);
  }
  yield `${headingOf(`${format} image`, file)}${facts.join(', ')}.`;
  if (mimeType === 'image/tiff') for (const sentence of await tiffFacts(file)) yield ` ${sentence}`;
  for (const sentence of await exifFacts(header)) yield ` ${sentence}`;
  if (await isCut(file, mimeType)) yield ' The file seems cut off: its end is missing.';
}

const FORMATS = new Map([
  ['image/webp', 'WebP'],
  ['image/x-icon', 'ICO'],
  ['image/vnd.adobe.photoshop', 'PSD'],
]);

function formatOf(mimeType: string): string {
  const subtype = mimeType.replace(/^image\/(x-)?(vnd\.)?/, '');
  return FORMATS.get(mimeType) ?? subtype.toUpperCase();
}

/** Whether the end marker of a PNG (RFC 2083 §4.1.4), JPEG or GIF is missing. Bytes after the marker are allowed. */
async function isCut(file: FileSource, mimeType: string): Promise<boolean> {
  const end = Buffer.from(await file.read(Math.max(0, file.size - 64 * 1024), file.size));
  if (mimeType === 'image/png') return !end.includes('IEND');
  if (mimeType === 'image/jpeg') return !end.includes(Buffer.from([0xff, 0xd9]));
  if (mimeType === 'image/gif') return !end.includes(0x3b);
  return false;
}
