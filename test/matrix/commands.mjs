import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import process from 'node:process';

/** Ends a command that hangs. */
const TIMEOUT_MS = 15 * 60_000;

/** What is added to each `npm install`: nothing that needs the network but the packages themselves. */
const QUIET = ['--no-audit', '--no-fund', '--prefer-offline'];

/**
 * Executes a command and shows its output only if it fails, unless it is asked to show it.
 *
 * @param options `cwd` and `env` as `spawn` takes them; `isShown`: whether the output is shown as it comes
 * @returns the output of both streams
 * @throws Error with the output, if the command fails
 */
export async function run(command, parameters, { isShown = false, ...options } = {}) {
  const child = spawn(command, parameters, {
    timeout: TIMEOUT_MS,
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
      if (isShown) process.stdout.write(text);
    });
  }
  const [code, signal] = await once(child, 'close');
  if (code === 0) return output;
  const line = [command, ...parameters].join(' ');
  throw new Error(`"${line}" ended with ${signal ?? code}.${isShown ? '' : `\n${output}`}`);
}

/**
 * Does the same with each of some names, or with all if none is named. A failure is shown, and the others follow.
 *
 * @param atOnce how many are done at the same time
 * @throws Error if there is no such name
 */
export async function forEachNamed(all, work, atOnce = 1) {
  const names = process.argv.slice(2);
  const unknown = names.filter((name) => !(name in all));
  if (unknown.length > 0)
    throw new Error(`There is no ${unknown.join(', ')}. There are: ${Object.keys(all).join(', ')}.`);
  const left = (names.length > 0 ? names : Object.keys(all)).values();
  const workInTurn = async () => {
    for (const name of left) {
      try {
        await work(name, all[name]);
      } catch (error) {
        console.error(`${name} has failed: ${error.message}`);
        process.exitCode = 1;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, workInTurn));
}

/**
 * Executes npm.
 *
 * @throws Error if it fails, or warns that a package does not support this version of Node
 */
export async function npm(parameters, options) {
  const isInstall = /^(?:ci|install)$/.test(parameters[0]);
  const output = await run('npm', [...parameters, ...(isInstall ? QUIET : [])], options);
  if (output.includes('EBADENGINE')) throw new Error(`npm ${parameters.join(' ')} warns:\n${output}`);
}

/**
 * Installs the packages of a folder that are not those of its lock file, and says how long it takes.
 *
 * @param folder has a manifest and a lock file of its own, for a program that `npm ci` does not install packages for
 * @throws Error if npm fails
 */
export async function withPackages(folder) {
  const installed = join(folder, 'node_modules/.package-lock.json');
  const lockedAt = (await stat(join(folder, 'package-lock.json'))).mtimeMs;
  if ((await stat(installed).catch(() => undefined))?.mtimeMs >= lockedAt) return;
  const began = performance.now();
  console.log(`Installing the packages of ${relative(process.cwd(), folder)} …`);
  await npm(['ci'], { cwd: folder });
  console.log(`Installed in ${((performance.now() - began) / 1000).toFixed(0)} s.`);
}
