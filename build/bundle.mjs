import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { build } from 'rolldown';
import { licences } from './licences.mjs';

const ROOT = resolve(import.meta.dirname, '..');
const CHUNKS = 'chunks';

/** What a package has beside its entries: programs, threads, which are started by their paths, and what programs of `test` use. */
const FURTHER = {
  '.': ['main', 'query/runs/schema-worker', 'stores/drivers/sqlite-worker', 'internals'],
  'packages/protocols': [],
};

/** Dozens of files of which a package uses a part. All others stay outside: hosts share them or keep them new. */
const CONTAINED = /^(?:kysely|class-validator|validator|libphonenumber-js)(?:\/|$)/;

/**
 * It tells the folder of the code, and stays the CommonJS file that it is: `import.meta` is a syntax error where a host's Jest compiles
 * the package to CommonJS.
 */
const CODE_FOLDER = 'query/platform/code-folder.cjs';

for (const [folder, further] of Object.entries(FURTHER)) await bundle(folder, further);
mkdirSync(join(ROOT, 'dist', dirname(CODE_FOLDER)), { recursive: true });
copyFileSync(join(ROOT, 'dist/compiled', CODE_FOLDER), join(ROOT, 'dist', CODE_FOLDER));

/**
 * Makes the entries of a package out of what TypeScript has compiled into its `dist/compiled`: a few files in place of dozens or
 * hundreds, which Node loads in less time. The declarations of TypeScript are in its `dist` already.
 */
async function bundle(folder, further) {
  const dist = join(ROOT, folder, 'dist');
  const names = [...entriesOf(folder), ...further];
  const { output } = await build({
    input: Object.fromEntries(names.map((name) => [name, join(dist, `compiled/${name}.js`)])),
    platform: 'node',
    // Of the ES modules of a package, only what is used becomes a part of the bundle.
    resolve: { mainFields: ['module', 'main'] },
    external: (id) => id.endsWith('/code-folder.cjs') || (/^[@a-z]/.test(id) && !CONTAINED.test(id)),
    plugins: [licences(`${CHUNKS}/LICENSES.txt`)],
    output: {
      dir: dist,
      entryFileNames: '[name].js',
      // Without a hash: what a service that is running has not loaded yet stays there when its sources are built again.
      chunkFileNames: `${CHUNKS}/[name].js`,
      // Nest and the errors of callers show the names of classes.
      keepNames: true,
      comments: { legal: true },
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
