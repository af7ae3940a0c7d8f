/**
 * Packs packages for hosts, before they are published: `npm run pack:all -- DIRECTORY [PACKAGE…]`. It builds what has changed. With
 * names, it packs those packages and the ones of this repository that they need; without, all that `npm run build` builds.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(import.meta.dirname, '..');

/** What is in a folder of packed packages: each with its file, and the others that it needs. `create --packed` reads it. */
const LIST = 'packed.json';

/** The published packages of this repository, each after those that it needs: its folder, its manifest, and their names. */
export function publishedPackages() {
  const folders = readdirSync(join(ROOT, 'packages')).map((name) => join(ROOT, 'packages', name));
  const all = [ROOT, ...folders]
    .filter((folder) => existsSync(join(folder, 'package.json')))
    .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) }))
    .filter(({ folder, manifest }) => folder === ROOT || (!manifest.private && manifest.version));
  const byName = new Map(all.map((each) => [each.manifest.name, each]));
  const ordered = new Map();
  const add = ({ folder, manifest }) => {
    const needs = ownOnes(manifest, byName);
    for (const name of needs.filter((each) => !ordered.has(each))) add(byName.get(name));
    ordered.set(manifest.name, { folder, manifest, needs });
  };
  all.forEach(add);
  return [...ordered.values()];
}

function ownOnes({ dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} }, names) {
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  return [...Object.keys(dependencies), ...peers].filter((name) => names.has(name));
}

/**
 * Packs packages that are built, and notes what the folder has.
 *
 * @param packages of `publishedPackages`
 * @param directory is made if it is not there
 * @returns them, each with the path of its tarball, and the paths of the files in it
 */
export function packInto(packages, directory) {
  mkdirSync(directory, { recursive: true });
  const options = ['--json', '--ignore-scripts', '--pack-destination', directory];
  const folders = packages.map(({ folder }) => folder);
  const output = execFileSync('npm', ['pack', ...options, ...folders], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === 'win32',
  });
  const packed = Object.values(JSON.parse(output.slice(output.search(/^[[{]/m))));
  const all = packages.map((each) => {
    const { filename, files } = packed.find(({ name }) => name === each.manifest.name);
    return { ...each, path: join(directory, filename), files: files.map(({ path }) => path), filename };
  });
  const list = all.map(({ manifest, filename, needs }) => [manifest.name, { file: filename, needs }]);
  writeFileSync(join(directory, LIST), `${JSON.stringify(Object.fromEntries(list), null, 2)}\n`);
  return all;
}

/** Those of the packages that have these names, and those that they need. */
export function withNeeded(packages, names) {
  const wanted = new Set(names);
  // A set is read to its end, also what is added meanwhile.
  for (const name of wanted)
    for (const needed of packages.find(({ manifest }) => manifest.name === name).needs) wanted.add(needed);
  return packages.filter(({ manifest }) => wanted.has(manifest.name));
}

/** The packages of these names and those that they need; without names, all. */
function chosen(names) {
  const packages = publishedPackages();
  const known = packages.map(({ manifest }) => manifest.name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) fail(`There is no package ${unknown.join(', ')}. These are: ${known.join(', ')}.`);
  return names.length > 0 ? withNeeded(packages, names) : packages;
}

/** Those that are built. Adapters of frameworks are not built with the others; they may be named only if they are. */
function built(packages, names) {
  const isBuilt = ({ folder }) => existsSync(join(folder, 'dist/build.tsbuildinfo'));
  const missing = packages.find((each) => !isBuilt(each) && names.includes(each.manifest.name));
  if (missing) fail(`${missing.manifest.name} is not built. Execute this first: npm run adapters -- build`);
  return packages.filter(isBuilt);
}

function fail(sentence) {
  console.error(sentence);
  process.exit(2);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [given, ...names] = process.argv.slice(2);
  if (given === undefined) fail('Name a folder for the packages: npm run pack:all -- ../packed');
  const packages = chosen(names);
  await import('./index.mjs');
  const directory = resolve(given);
  const packed = packInto(built(packages, names), directory);
  for (const { filename } of packed) console.log(filename);
  console.log(`${packed.length} packages are in ${directory}`);
}
