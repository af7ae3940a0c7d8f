import { posix } from 'node:path';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

/**
 * Finds the parts to which a part of an office document refers (ECMA-376 part 2, 8.5).
 *
 * @param part name of the entry that refers to others
 * @returns entry names by relationship id
 */
export async function relationshipsOf(zip: ZipArchive, part: string): Promise<Map<string, string>> {
  const targets = new Map<string, string>();
  const folder = posix.dirname(part);
  const entry = `${folder}/_rels/${posix.basename(part)}.rels`;
  if (!zip.has(entry)) return targets;
  await readXml(zip.read(entry), {
    open(name, { Id, Target, TargetMode }) {
      if (name !== 'Relationship' || Id === undefined || Target === undefined || TargetMode === 'External')
        return;
      if (targets.size < 10_000) targets.set(Id, posix.resolve('/', folder, Target).slice(1));
    },
  });
  return targets;
}
