import { basename } from 'node:path';
import { Refusal } from './refusal.js';

/** The most characters of a name: https://docs.npmjs.com/cli/configuring-npm/package-json#name */
const LENGTH = 214;

const VALID = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/** npm does not take these: they are folders and files of its own. */
const RESERVED = ['node_modules', 'favicon.ico'];

/**
 * Chooses the name in the manifest of an application.
 *
 * @param given the name that was asked for; undefined: that of the folder, as far as npm takes it
 * @param folder the absolute path of the folder
 * @param dependencies the packages of the application; npm does not install a package into one of the same name
 * @throws {Refusal} npm does not take the name that was asked for
 */
export function applicationName(given: string | undefined, folder: string, dependencies: string[]): string {
  if (given === undefined) return nameOfFolder(folder, dependencies);
  const name = JSON.stringify(given);
  if (given.length > LENGTH)
    throw new Refusal(`The name has ${given.length} characters; it may have ${LENGTH}.`, true);
  if (!VALID.test(given) || RESERVED.includes(given))
    throw new Refusal(
      `${name} is no name of a package. Use lower-case letters, digits, "-", "_" and ".", such as "my-agent".`,
      true,
    );
  if (dependencies.includes(given))
    throw new Refusal(`${name} is a package that the application needs. Choose another name.`, true);
  return given;
}

function nameOfFolder(folder: string, dependencies: string[]): string {
  const name = basename(folder)
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9._~-]+/g, '-')
    .replace(/^[-._]+|-+$/g, '')
    .slice(0, LENGTH - '-app'.length);
  if (name === '') return 'agent';
  return dependencies.includes(name) || RESERVED.includes(name) ? `${name}-app` : name;
}
