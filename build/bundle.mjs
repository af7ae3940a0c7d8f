import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'rolldown';
import { licences } from './licences.mjs';

const ROOT = resolve(import.meta.dirname, '..');
const CHUNKS = 'chunks';

/** What a package has beside its entries: programs and threads, which are started by their paths. */
const FURTHER = {
  '.': {
    ...compiled('main', 'query/runs/schema-worker', 'stores/drivers/sqlite-worker'),
    internals: join(import.meta.dirname, 'internals.mjs'),
  },
  'packages/protocols': {},
};

/** Dozens of files of which a package uses a part. All others stay outside: hosts share them or keep them new. */
const CONTAINED = /^(?:kysely|class-validator|validator|libphonenumber-js)(?:\/|$)/;

/** A module that tells the folder of the code, in place of the one that Jest can execute too. Its chunk is in `chunks`. */
const CODE_FOLDER = '\0code-folder.js';

for (const [folder, further] of Object.entries(FURTHER)) await bundle(folder, further);

/**
 * Makes the entries of a package out of what TypeScript has compiled into its `dist/compiled`: a few files in place of dozens or
 * hundreds, which Node loads in less time. The declarations of TypeScript are in its `dist` already.
 */
async function bundle(folder, further) {
  const dist = join(ROOT, folder, 'dist');
  const { output } = await build({
    cwd: join(ROOT, folder),
    input: { ...compiled(...entriesOf(folder)), ...further },
    platform: 'node',
    external: (id) => /^[@a-z]/.test(id) && !CONTAINED.test(id),
    plugins: [
      { name: 'code-folder', resolveId: resolveCodeFolder, load: loadCodeFolder },
      licences(`${CHUNKS}/LICENSES.txt`),
    ],
    output: {
      dir: dist,
      entryFileNames: '[name].js',
      // Without a hash: what a service that is running has not loaded yet stays there when its sources are built again.
      chunkFileNames: `${CHUNKS}/[name].js`,
      // Nest and the errors of callers show the names of classes.
      keepNames: true,
      comments: { legal: true },
      codeSplitting: { groups: [{ name: 'code-folder', test: /\0code-folder\.js$/ }] },
    },
  });
  const written = new Set(output.map(({ fileName }) => fileName));
  for (const name of readdirSync(join(dist, CHUNKS)))
    if (!written.has(`${CHUNKS}/${name}`)) rmSync(join(dist, CHUNKS, name));
}

/** The names of the entries of a package, but for those that another package writes. */
function entriesOf(folder) {
  const { exports, bin = {} } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
  const paths = [...Object.values(exports).map((entry) => entry.default), ...Object.values(bin)];
  return paths.flatMap((path) => /^\.\/dist\/(?!openapi\/)(.+)\.js$/.exec(path)?.[1] ?? []);
}

function compiled(...names) {
  return Object.fromEntries(names.map((name) => [name, `./dist/compiled/${name}.js`]));
}

function resolveCodeFolder(id) {
  return id.endsWith('/code-folder.cjs') ? CODE_FOLDER : undefined;
}

function loadCodeFolder(id) {
  if (id !== CODE_FOLDER) return undefined;
  return "import { dirname } from 'node:path';\nexport const CODE_FOLDER = dirname(import.meta.dirname);\n";
}
