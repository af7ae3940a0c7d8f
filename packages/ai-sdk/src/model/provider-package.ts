import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type LanguageModel, wrapLanguageModel } from 'ai';
import { CODE_FOLDER } from './code-folder.cjs';

/** What the factory of a provider package of the AI SDK takes, as far as all of them do. */
export interface ProviderSettings {
  apiKey?: string;
  baseURL?: string;
  fetch: typeof globalThis.fetch;
}

/** A model that is an object, and not a name. */
type Model = Exclude<LanguageModel, string>;

/** What makes models by their names. */
export interface Provider {
  languageModel(name: string): Model;
}

type Factory = (settings: ProviderSettings) => Provider;

const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const NAME_LENGTH = 64;

/** Whether a value can be the last part of `@ai-sdk/<name>`, and nothing else. */
export function isProviderName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= NAME_LENGTH && NAME.test(value);
}

/**
 * Makes a provider of the package `@ai-sdk/<name>`, which the host has installed.
 *
 * @param name the last part of the name of the package; see `isProviderName`
 * @param model a model of it, by which its version is checked
 * @throws {TypeError} the package is not installed, has another version than `ai` takes, or makes no provider
 */
export function providerOf(name: string, model: string, settings: ProviderSettings): Provider {
  const entry = `@ai-sdk/${name}`;
  const require = requireOf(entry);
  const provider = factoryOf(entry, require(entry) as Record<string, unknown>)(settings);
  if (typeof provider?.languageModel !== 'function')
    throw new TypeError(`ModelOptions.provider needs a package of language models; ${entry} has none.`);
  checkVersion(entry, require, provider.languageModel(model));
  return provider;
}

/** A package manager may put it where only the application finds it, and not this package. */
function requireOf(entry: string): NodeJS.Require {
  const found = [CODE_FOLDER, process.cwd()]
    .map((folder) => createRequire(join(folder, 'package.json')))
    .find((require) => isInstalled(entry, require));
  if (found) return found;
  const command = `npm install ${entry}@${newestSpecification()}`;
  throw new TypeError(
    `ModelOptions.provider needs the package ${entry}, which is not installed. Run ${command}. ` +
      'The option apiKey has its key: in the service, MODEL_API_KEY.',
  );
}

function isInstalled(entry: string, require: NodeJS.Require): boolean {
  try {
    require.resolve(entry);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return false;
    throw error;
  }
}

/** The one function that makes a provider: `createAnthropic`, `createMistral`. Two names may be of the same function. */
function factoryOf(entry: string, exports: Record<string, unknown>): Factory {
  const names = Object.keys(exports).filter((name) => /^create[A-Z]/.test(name));
  const factories = new Set(names.map((name) => exports[name]).filter((each) => typeof each === 'function'));
  const [factory] = factories;
  if (factory !== undefined && factories.size === 1) return factory as Factory;
  const found = factories.size === 0 ? 'none' : names.join(' and ');
  throw new TypeError(
    `ModelOptions.provider needs a package with one function create…, and ${entry} has ${found}. ` +
      'Use fromAiSdk with a model of it.',
  );
}

/** @throws {TypeError} */
function checkVersion(entry: string, require: NodeJS.Require, model: Model): void {
  const newest = newestSpecification();
  const specification = Number(model.specificationVersion.slice(1));
  if (specification >= OLDEST && specification <= newest) return;
  const { version } = require(`${entry}/package.json`) as { version: string };
  // Each specification has been a new major version of each package.
  const fitting = Number.parseInt(version) + newest - specification;
  throw new TypeError(
    `ModelOptions.provider: ${entry} ${version} has models of the specification v${specification}, ` +
      `and the installed ai takes v${newest}. Run npm install ${entry}@${fitting}.`,
  );
}

/** Models of before cannot be held back, or have distinct ids. */
const OLDEST = 3;

/** The newest specification of models that the installed `ai` takes: 3 in its version 6, 4 in its version 7. */
function newestSpecification(): number {
  const model = { specificationVersion: 'v3' } as Parameters<typeof wrapLanguageModel>[0]['model'];
  return Number(wrapLanguageModel({ model, middleware: [{}] as never }).specificationVersion.slice(1));
}
