import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FilesLimits } from '../files-limits.js';
import { UnreadableFile } from '../unreadable-file.js';
import { describeArchive } from './archive.js';

/**
 * Describes a tar archive while it is read.
 *
 * @param chunks the archive, unpacked if it was compressed
 * @param packed bytes of the compressed archive, if it is compressed
 */
export async function describeTar(
  chunks: AsyncIterable<Uint8Array>,
  limits: FilesLimits,
  packed?: number,
): Promise<string> {
  const { createTarDecoder } = await import('modern-tar');
  const entries: { name: string; folder: boolean; size: number }[] = [];
  const source = Readable.toWeb(Readable.from(chunks)) as ReadableStream<Uint8Array>;
  let more = false;
  try {
    for await (const { header, body } of source.pipeThrough(createTarDecoder({ strict: true }))) {
      if (entries.length >= limits.entries) {
        more = true;
        break;
      }
      entries.push({ name: header.name, folder: header.type === 'directory', size: header.size });
      await body.cancel();
    }
  } catch (error) {
    if (error instanceof UnreadableFile) throw error;
    const problem = 'This tar archive is broken or cut off.';
    if (entries.length === 0) throw new UnreadableFile(problem);
    return `${problem} Before that it holds: ${describeArchive(entries, { more: true })}`;
  }
  return describeArchive(entries, { more, ...(packed !== undefined && { packed }) });
}
