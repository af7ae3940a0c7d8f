/**
 * Publishes all packages with one version, after it has checked them as users get them: packed, and installed in empty hosts.
 *
 *     npm run release -- --dry-run             # the checks alone
 *     npm run release -- --dry-run --no-hosts  # the same without hosts, such as `npm run hosts` has
 *     npm run release                          # the checks, and npm publish for each package
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, posix, relative } from 'node:path';
import process from 'node:process';
import { gzipSync } from 'node:zlib';
import { FRAMEWORKS } from '../adapters/build.mjs';
import { run, withPackages } from '../matrix/commands.mjs';
import { installHost, packedOnes } from '../matrix/packed-host.mjs';
import { entriesOf, packedPackages, ROOT } from './packed.mjs';

/** The most bytes of the client in a page: minified and compressed, without the parser of events. */
const CLIENT_BYTES = 7_300;

/** The most bytes of the client as one file, with that parser and the licences: compressed. */
const ONE_FILE_BYTES = 10_500;

const isDryRun = process.argv.includes('--dry-run');
if (!isDryRun) {
  const changes = await run('git', ['status', '--porcelain'], { cwd: ROOT });
  assert.equal(changes, '', 'There are changes that are not committed. Commit them first.');
}
await withPackages(import.meta.dirname);
const { publint } = await import('publint');

let packages;
let versions;

const directory = await mkdtemp(join(tmpdir(), 'release-'));
try {
  packages = await packedPackages(directory);
  versions = new Set(packages.map(({ manifest }) => manifest.version));
  assert.equal(versions.size, 1, `The packages have several versions: ${[...versions].join(', ')}.`);
  for (const each of packages) await check(each);
  await checkClient();
  if (!process.argv.includes('--no-hosts')) {
    await checkHost('Nest 11, CommonJS', 11, 'commonjs');
    await checkHost('Nest 12, ESM', 12, 'module');
  }
  if (!isDryRun)
    for (const { path, manifest } of packages) {
      await run('npm', ['publish', path, '--access', 'public'], { isShown: true });
      console.log(`${manifest.name} ${manifest.version} is published`);
    }
  console.log(`${packages.length} packages of version ${[...versions][0]} are ready`);
} finally {
  await rm(directory, { recursive: true, force: true });
}

/** Looks at what is in a tarball, at its types in every mode, and at what publint says. */
async function check({ folder, manifest, path, files }) {
  const entries = entriesOf({ manifest });
  // A package without entries has a command only.
  const built =
    entries.length > 0
      ? Object.values(manifest.exports).flatMap((entry) =>
          typeof entry === 'string' ? [entry] : Object.values(entry),
        )
      : Object.values(manifest.bin);
  for (const file of ['LICENSE', 'README.md', 'package.json', ...built.map((each) => posix.normalize(each))])
    assert.ok(files.includes(file), `${manifest.name} does not contain ${file}. Is it built?`);
  const strange = files.filter((file) =>
    /^(?!template(?:-acp)?\/).*\.spec\.|tsbuildinfo|^src\/|node_modules/.test(file),
  );
  assert.deepEqual(strange, [], `${manifest.name} contains what nobody needs.`);
  const { messages } = await publint({ pkgDir: folder, strict: true, pack: 'npm' });
  assert.deepEqual(messages, [], `publint warns of ${manifest.name}.`);
  const attw = join(import.meta.dirname, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  // Node 20.19 and newer load an ES module by `require` too.
  const rules = ['--ignore-rules', 'cjs-resolves-to-esm', 'no-resolution'];
  if (entries.length > 0) await run(process.execPath, [attw, path, ...rules]);
  console.log(`${manifest.name}: ${files.length} files, its types`);
}

/** The client of a page is small, and loads one package. */
async function checkClient() {
  const entry = join(ROOT, 'packages/client/dist/index.js');
  const { build, minify } = await import(createRequire(join(ROOT, 'package.json')).resolve('vite'));
  const lib = { entry, formats: ['es'] };
  const rollupOptions = { external: ['eventsource-parser'] };
  const [{ output }] = await build({
    logLevel: 'silent',
    configFile: false,
    build: { write: false, lib, rollupOptions },
  });
  const { code } = await minify('client.js', output[0].code);
  assert.deepEqual(output[0].imports, ['eventsource-parser']);
  const bytes = gzipSync(code).length;
  assert.ok(bytes < CLIENT_BYTES, `The client has ${bytes} bytes; it must have fewer than ${CLIENT_BYTES}.`);
  const oneFile = gzipSync(await readFile(join(ROOT, 'packages/client/dist/browser.js'))).length;
  assert.ok(oneFile < ONE_FILE_BYTES, `browser.js has ${oneFile} bytes; at most ${ONE_FILE_BYTES}.`);
  console.log(`nest-agent-query-client: ${bytes} bytes in a page, ${oneFile} as one file`);
}

/** Installs the tarballs in an empty host, and loads there every entry that needs no framework. */
async function checkHost(name, nest, type) {
  const names = ['common', 'core', 'platform-express', 'swagger'].map((each) => `@nestjs/${each}`);
  const host = await installHost(join(directory, type), {
    ...Object.fromEntries(names.map((each) => [each, `^${nest}.0.0`])),
    ...{ 'reflect-metadata': '^0.2.0', rxjs: '^7.8.0', 'prom-client': '^15.0.0', ai: '^6.0.0' },
    ...packedOnes(packages),
  });
  const loadable = packages.filter(({ folder }) => !FRAMEWORKS.includes(relative(ROOT, folder)));
  const entries = loadable.flatMap(entriesOf);
  const load = type === 'module' ? (entry) => `import '${entry}';` : (entry) => `require('${entry}');`;
  const file = join(host, type === 'module' ? 'entries.mjs' : 'entries.cjs');
  await writeFile(file, ['reflect-metadata', ...entries].map(load).join('\n'));
  await run(process.execPath, ['--no-warnings', file], { cwd: host });
  const version = await run(join(host, 'node_modules/.bin/nest-agent-query'), ['--version'], { cwd: host });
  assert.equal(version.trim(), [...versions][0]);
  console.log(`${name}: ${entries.length} entries are loaded, and the command works`);
}
