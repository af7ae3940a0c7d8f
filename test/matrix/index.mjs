/**
 * Executes the tests on other versions of Nest and Node, and the commands of `@nestjs/cli`, each in a copy of this checkout:
 * `npm run matrix` executes all, `npm run matrix -- nest-11` one of them. `versions.mjs` has the versions.
 */
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { forEachNamed, npm, run } from './commands.mjs';
import { tryNestCli } from './nest-cli.mjs';
import { installNode } from './node-version.mjs';
import { COMBINATIONS, LOCKED_NEST, NODE, RELEASED_BEFORE } from './versions.mjs';

const ROOT = resolve(import.meta.dirname, '../..');

const combinations = Object.entries(COMBINATIONS).map(([name, combination]) => [
  name,
  { ...combination, attempt: testOn },
]);
await forEachNamed(
  {
    ...Object.fromEntries(combinations),
    'nest-cli': { node: NODE[22], nest: LOCKED_NEST, attempt: tryNestCli },
  },
  tryInCopy,
);

async function tryInCopy(name, { node, nest, attempt, ...others }) {
  const directory = await mkdtemp(join(tmpdir(), `matrix-${name}-`));
  try {
    console.log(`\n${name}: Nest ${nest} on Node ${node}`);
    const env = await installNode(node, directory);
    const checkout = join(directory, 'checkout');
    await copyCheckout(checkout);
    if (nest === LOCKED_NEST) {
      await takePackages(checkout, 'linked');
      await takeBuild(checkout);
    } else {
      // Copies: npm writes into files that are there, and those of this checkout must stay.
      await takePackages(checkout, 'copied');
      await installNest(nest, { cwd: checkout, env });
    }
    await attempt({ checkout, env, directory, ...others });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function testOn({ checkout, env, specs, clients = [] }) {
  if (clients.length > 0) await installClients(clients, { cwd: join(checkout, 'packages'), env });
  await npm(['test', '--', '--testPathPatterns', ...specs], { cwd: checkout, env, isShown: true });
}

/** Installs clients of other protocols where the tests of the packages find them, and nothing else. */
async function installClients(clients, options) {
  await rm(join(options.cwd, 'package-lock.json'));
  await writeFile(join(options.cwd, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  // A peer of one of them has a copy of Nest, which the packages beside it would find first.
  await npm(['install', '--legacy-peer-deps', '--before', RELEASED_BEFORE, ...clients], options);
}

/** Copies what git knows or would add, so that it does not matter what has been built or installed here. */
async function copyCheckout(target) {
  const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
  });
  await mkdir(target);
  for (const file of listed.split('\0').filter(Boolean)) {
    await cp(join(ROOT, file), join(target, file)).catch((error) => {
      // Deleted, but not yet in a commit.
      if (error.code !== 'ENOENT') throw error;
    });
  }
}

/** Takes the packages that are installed here: an installation takes minutes, and has the same result on each Node. */
async function takePackages(target, how) {
  const packages = [join(ROOT, 'node_modules'), join(target, 'node_modules')];
  const copied = () => run('cp', ['-a', ...packages]);
  // Links are not possible to another file system.
  await (how === 'linked' ? run('cp', ['-al', ...packages]).catch(copied) : copied());
}

/** Takes what has been built here, for the same reasons. What has changed since is built again. */
async function takeBuild(target) {
  for (const folder of [
    '.',
    ...(await readdir(join(ROOT, 'packages'))).map((name) => join('packages', name)),
  ]) {
    const built = join(ROOT, folder, 'dist');
    if (existsSync(built)) await cp(built, join(target, folder, 'dist'), { recursive: true });
  }
}

/** Replaces the packages of Nest by those of another major version. Others, such as the throttler, stay. */
async function installNest(major, options) {
  const { devDependencies } = JSON.parse(await readFile(join(options.cwd, 'package.json'), 'utf8'));
  const ofNest = Object.keys(devDependencies).filter(
    (name) => name.startsWith('@nestjs/') && devDependencies[name].startsWith(`^${LOCKED_NEST}.`),
  );
  const packages = ofNest.map((name) => `${name}@${major}`);
  await npm(['install', '--save-dev', '--before', RELEASED_BEFORE, ...packages], options);
}
