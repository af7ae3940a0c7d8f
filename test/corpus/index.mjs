/**
 * Sends sample files of public packages to the built service, compares what it says with what readers of others see, and writes
 * docs/files-corpus.md. The packages are downloaded: 100 MB, into a temporary folder.
 *
 *     npm run corpus                                # all: about five minutes
 *     npm run corpus -- --only vega-datasets,debian-faq --kind XLSX
 *     npm run corpus -- --check                     # writes nothing
 *     npm run corpus -- --folder /tmp/corpus        # keeps the packages there for the next time
 *
 * It fails where a difference is not in known.json, a request takes more than 5 s, or the answer neither reads a file nor names
 * its kind.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { withPackages } from '../matrix/commands.mjs';
import { installPackages } from './install.mjs';
import { printDifferences, report } from './report.mjs';
import { samplesIn } from './samples.mjs';
import { FilesService } from './service.mjs';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    kind: { type: 'string' },
    folder: { type: 'string' },
    check: { type: 'boolean', default: false },
  },
});

const folder = values.folder ?? (await mkdtemp(join(tmpdir(), 'corpus-')));
let service;
try {
  await withPackages(import.meta.dirname);
  await main();
} finally {
  await service?.stop();
  if (!values.folder) await rm(folder, { recursive: true, force: true });
}

async function main() {
  const { packages, missing } = await installPackages(folder, values.only?.split(','));
  for (const each of missing) console.log(`Not here: ${each}`);
  const samples = (await samplesIn(packages)).filter(({ kind }) => !values.kind || kind === values.kind);
  console.log(`${samples.length} files of ${packages.length} packages.`);
  const { examine, judge } = await import('./examine.mjs');
  const known = JSON.parse(await readFile(new URL('known.json', import.meta.url), 'utf8'));
  service = await FilesService.start();
  const examined = [];
  for (const sample of samples) {
    examined.push(judge(await examine(sample, service), known));
    printDifferences(examined.at(-1));
  }
  const isWhole = !values.only && !values.kind;
  const unknown = await report(examined, known, {
    packages,
    missing,
    isWhole,
    isWritten: isWhole && !values.check,
  });
  if (unknown > 0) process.exitCode = 1;
}
