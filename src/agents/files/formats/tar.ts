import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FilesLimits } from '../files-limits.js';
import { UnreadableFile } from '../unreadable-file.js';
import { tooManyEntries, untilStopped } from '../reading-stopped.js';
import type { ReadingStopped } from '../reading-stopped.js';
import { describeArchive } from './archive.js';
import type { Findings } from './findings.js';

/**
 * Describes a tar archive while it is read.
 *
 * @param chunks the archive, unpacked if it was compressed
 * @param heading what the file is
 * @param packed bytes of the compressed archive, if it is compressed
 */
export async function* describeTar(
  chunks: AsyncIterable<Uint8Array>,
  limits: FilesLimits,
  heading: string,
  packed?: number,
): Findings {
  const { createTarDecoder } = await import('modern-tar');
  const entries: { name: string; folder: boolean; size: number }[] = [];
  const source = Readable.toWeb(Readable.from(chunks)) as ReadableStream<Uint8Array>;
  let problem = '';
  let stopped: ReadingStopped | undefined;
  try {
    stopped = await untilStopped(async () => {
      for await (const { header, body } of source.pipeThrough(createTarDecoder({ strict: true }))) {
        if (entries.length >= limits.entries) throw tooManyEntries(limits.entries);
        entries.push({ name: header.name, folder: header.type === 'directory', size: header.size });
        await body.cancel();
      }
    });
  } catch (error) {
    if (error instanceof UnreadableFile) throw error;
    problem = 'This tar archive is broken or cut off.';
    if (entries.length === 0) throw new UnreadableFile(problem);
    problem += ' Before that it holds: ';
  }
  const more = problem !== '' || stopped !== undefined;
  yield `${heading}${problem}${describeArchive(entries, { more, ...(packed !== undefined && { packed }) })}`;
  if (stopped) throw stopped;
}
