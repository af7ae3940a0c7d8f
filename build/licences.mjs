import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A plugin of rolldown that writes a file with the licences of all packages whose code is in the bundle: they require that their
 * texts are kept with the code. Without such a package there is no file.
 *
 * @param fileName where, in the folder of the output
 */
export function licences(fileName) {
  return {
    name: 'licences',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap(({ moduleIds = [] }) => moduleIds);
      const folders = new Set(
        modules.flatMap((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []),
      );
      const source = [...folders]
        .sort()
        .map(licenceOf)
        .join(`\n${'-'.repeat(80)}\n\n`);
      if (folders.size > 0) this.emitFile({ type: 'asset', fileName, source });
    },
  };
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  return `${name} ${version}: ${license}\n${text}`;
}
