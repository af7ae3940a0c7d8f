import type { IAudioMetadata } from 'music-metadata';
import type { FileSource } from '../file-source.js';
import { code, count, numbered } from '../markdown.js';
import { isOfFile } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';
import { describeBinary } from './binary.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { ReadAhead } from './read-ahead.js';

/** Streams whose format is shown, and chapters that are, at most. */
const CODECS = 5;
const CHAPTERS = 20;

/** Whether a type is one of sound or of moving pictures. */
export function isMedia(mimeType: string): boolean {
  return /^(audio|video)\/|^application\/(ogg|vnd\.ms-asf)$/.test(mimeType);
}

/** Describes sound or a video: duration, streams and tags. Only the parts of the file that state them are read. */
export async function* describeMedia(file: FileSource, type: { mime: string; ext: string }): Findings {
  const { parseBlob, UnsupportedFileTypeError, CouldNotDetermineFileTypeError } =
    await import('music-metadata');
  let metadata: IAudioMetadata;
  try {
    metadata = await parseBlob(blobOf(file, type.mime), { skipCovers: true });
  } catch (error) {
    if (error instanceof UnsupportedFileTypeError || error instanceof CouldNotDetermineFileTypeError) {
      return yield* describeBinary(file, type);
    }
    if (isOfFile(error)) throw error;
    // Its readers throw errors of many kinds about broken files, also those of JavaScript itself.
    throw new UnreadableFile(`This ${type.ext.toUpperCase()} file is broken or cut off: it cannot be read.`);
  }
  const kind = type.mime.startsWith('video/') ? 'video' : 'sound';
  const facts = [streamFacts(metadata), ...tagFacts(metadata)];
  yield `${headingOf(`${type.ext.toUpperCase()} ${kind}`, file)}${facts.join(' ')}${chaptersOf(metadata)}`;
}

/** The library reads from a Blob, of which it uses only the size and slices. */
function blobOf(file: FileSource, type: string): Blob {
  const ahead = new ReadAhead(file);
  const slice = (start: number, end: number) => ({
    arrayBuffer: async () => Uint8Array.from(await ahead.read(start, end)).buffer,
  });
  return { size: file.size, type, slice } as unknown as Blob;
}

function streamFacts({ format }: IAudioMetadata): string {
  const facts: string[] = [];
  if (format.duration !== undefined && Number.isFinite(format.duration))
    facts.push(durationOf(format.duration));
  const video = format.trackInfo.find((track) => track.video?.pixelWidth)?.video;
  if (video) facts.push(`${video.pixelWidth} × ${video.pixelHeight} pixels`);
  const codecs = new Set([format.codec, ...format.trackInfo.map(({ codecName }) => codecName)]);
  for (const codec of [...codecs].slice(0, CODECS))
    if (codec) facts.push(code(codec.replace(/^<|>$/g, ''), 60));
  if (format.bitrate !== undefined && format.bitrate >= 1000) {
    facts.push(`${Math.round(format.bitrate / 1000).toLocaleString('en-US')} kbit/s`);
  }
  if (format.sampleRate !== undefined) facts.push(`${format.sampleRate.toLocaleString('en-US')} Hz`);
  if (format.numberOfChannels !== undefined) facts.push(count(format.numberOfChannels, 'channel'));
  return facts.length > 0 ? `${facts.join(', ')}.` : 'It does not state how long it is.';
}

function tagFacts({ common }: IAudioMetadata): string[] {
  const track = common.track.no === null ? undefined : String(common.track.no);
  const tags: [string, string | undefined][] = [
    ['Title', common.title],
    ['Artist', common.artist],
    ['Album', common.album],
    ['Track', track],
    ['Year', common.year === undefined ? undefined : String(common.year)],
    ['Genre', common.genre?.slice(0, 5).join(', ')],
    ['Comment', common.comment?.[0]?.text],
  ];
  return tags.flatMap(([name, value]) => (value?.trim() ? [`${name}: ${code(value.trim(), 200)}.`] : []));
}

function chaptersOf({ format }: IAudioMetadata): string {
  const chapters = format.chapters ?? [];
  if (chapters.length === 0) return '';
  const shown = chapters.slice(0, CHAPTERS).map(({ title }) => code(title));
  return `\n\n${count(chapters.length, 'chapter')}:\n\n${numbered(shown, chapters.length - CHAPTERS, 'chapter')}`;
}

/** `0:03.5` for less than a minute, `4:07`, `1:02:03`. */
export function durationOf(seconds: number): string {
  if (seconds < 60) return `${seconds.toLocaleString('en-US', { maximumFractionDigits: 1 })} s`;
  const whole = Math.round(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const [hours, minutes, rest] = parts.map((part) => String(part).padStart(2, '0'));
  return `${parts[0] === 0 ? `${parts[1]}:${rest}` : `${Number(hours)}:${minutes}:${rest}`} ${parts[0] === 0 ? 'min' : 'h'}`;
}
