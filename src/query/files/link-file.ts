import { randomUUID } from 'node:crypto';
import { link, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContentFile } from '../ports/file-store.js';

/**
 * Gives a file a second name, by which it can be read also when the first is removed (link(2)). No byte is copied.
 *
 * @param directory where the second name is, in the same file system. Made if it is missing
 * @returns undefined if the file system cannot do that, or there is no such file
 */
export async function linkFile(path: string, directory: string): Promise<ContentFile | undefined> {
  const linked = join(directory, randomUUID());
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await link(path, linked);
  } catch {
    return undefined;
  }
  return { path: linked, remove: () => rm(linked, { force: true }) };
}
