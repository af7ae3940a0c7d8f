import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { UnreadableFile } from '../unreadable-file.js';
import { tooManyEntries, untilStopped } from '../reading-stopped.js';
import type { ReadingStopped } from '../reading-stopped.js';
import { describeArchive } from './archive.js';
import type { ArchiveEntry } from './archive.js';
import { ContainedFiles, isArchiveName } from './contained-files.js';
import type { DescribeContained } from './contained-files.js';
import type { Findings } from './findings.js';
import { TarReader } from './tar-reader.js';

/** A tar archive that is read. */
interface TarSource {
  /** The file that it is, or that it is in. */
  file: FileSource;
  /** The archive, unpacked if it was compressed. */
  chunks: AsyncIterable<Uint8Array>;
  /** What the file is. */
  heading: string;
  /** Bytes of the compressed archive, if it is compressed. */
  packed?: number;
}

/** Describes a tar archive while it is read. */
export async function* describeTar(
  { file, chunks, heading, packed }: TarSource,
  limits: FilesLimits,
  describe: DescribeContained,
): Findings {
  const reader = new TarReader(chunks, file.mimeType);
  const entries: ArchiveEntry[] = [];
  const contained = new ContainedFiles(file, describe);
  let problem = '';
  let stopped: ReadingStopped | undefined;
  try {
    stopped = await untilStopped(async () => {
      for await (const entry of reader.entries()) {
        if (entries.length >= limits.entries) throw tooManyEntries(limits.entries);
        entries.push(entry);
        const isWhole = entry.kind === 'file' && !entry.isSparse;
        if (isWhole && isArchiveName(entry.name)) await contained.add(entry.name, reader.contents());
      }
    });
    if (!stopped && !reader.hasEnd) {
      problem = 'The mark at the end of this tar archive is missing: it may be cut off. It holds: ';
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    if (entries.length === 0) throw error;
    problem = `${error.message} Before that it holds: `;
  }
  const more = problem !== '' || stopped !== undefined;
  const body = describeArchive(entries, { more, ...(packed !== undefined && { packed }) });
  const notes = reader.notes.map((note) => `\n\n${note}`).join('');
  yield `${heading}${problem}${body}${notes}${contained.text}`;
  if (stopped) throw stopped;
}
