import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'rolldown';
import { licences } from './licences.mjs';

const ROOT = resolve(import.meta.dirname, '..');
const COMPILED = join(ROOT, 'dist/compiled');
const DIST = join(ROOT, 'dist');
const CHUNKS = 'chunks';

/** A module that tells the folder of the code, in place of the one that Jest can execute too. Its chunk is in `chunks`. */
const CODE_FOLDER = join(COMPILED, 'code-folder.js');

/** Started as threads, by their paths. */
const THREADS = ['query/runs/schema-worker', 'stores/drivers/sqlite-worker'];

/** Hundreds of files of which the package uses a part. All other packages stay outside: hosts share them or keep them new. */
const CONTAINED = /^(?:kysely|class-validator|validator|libphonenumber-js)(?:\/|$)/;

/**
 * Makes the entries of the package out of what TypeScript has compiled into `dist/compiled`: a few files in place of several hundred,
 * which Node loads in two thirds of the time. The declarations of TypeScript are in `dist` already.
 */
const { exports, bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const targets = [...Object.values(exports).map((entry) => entry.default), ...Object.values(bin)];
const names = targets.flatMap((path) => /^(?:\.\/)?dist\/(?!openapi\/)(.+)\.js$/.exec(path)?.[1] ?? []);
const entries = [...new Set([...names, 'main', ...THREADS])];

const { output } = await build({
  input: {
    ...Object.fromEntries(entries.map((name) => [name, join(COMPILED, `${name}.js`)])),
    internals: join(import.meta.dirname, 'internals.mjs'),
  },
  platform: 'node',
  external: (id) => /^[@a-z]/.test(id) && !CONTAINED.test(id),
  plugins: [
    { name: 'code-folder', resolveId: resolveCodeFolder, load: loadCodeFolder },
    licences(`${CHUNKS}/LICENSES.txt`),
  ],
  output: {
    dir: DIST,
    entryFileNames: '[name].js',
    // Without a hash: what a service that is running has not loaded yet stays there when its sources are built again.
    chunkFileNames: `${CHUNKS}/[name].js`,
    // Nest and the errors of callers show the names of classes.
    keepNames: true,
    comments: { legal: true },
    codeSplitting: { groups: [{ name: 'code-folder', test: /\/code-folder\.js$/ }] },
  },
});

const written = new Set(output.map(({ fileName }) => fileName));
for (const name of readdirSync(join(DIST, CHUNKS)))
  if (!written.has(`${CHUNKS}/${name}`)) rmSync(join(DIST, CHUNKS, name));

function resolveCodeFolder(id) {
  return id.endsWith('/code-folder.cjs') ? CODE_FOLDER : undefined;
}

function loadCodeFolder(id) {
  if (id !== CODE_FOLDER) return undefined;
  return "import { dirname } from 'node:path';\nexport const CODE_FOLDER = dirname(import.meta.dirname);\n";
}
