import { explainFailure } from './explain-failure.js';
import { importModule } from './load-module.js';
import { ModuleFailure } from './module-failure.js';
import { pathOfModule } from './module-file.js';
import type { WatchedModuleUse } from './module-program.js';
import { fingerprintOf, urlOfVersion } from './module-versions.js';
import { commonJsOf, forgetCommonJs, watchImports } from './watch-imports.js';
import { WatchedFiles } from './watched-files.js';

/** Begins to use a new version. `isNewest` says whether the files have not changed again by then. */
type Replace<T> = (version: T, isNewest: () => boolean) => Promise<void>;

/**
 * Loads a module again when its file has changed, or a file that it imports. Packages are not loaded again.
 *
 * Each version is a module of its own for Node: its URL ends with `?agent-version=3`, and a hook of Node gives the files that it
 * imports the same number. The hook reports the state of each file before it was read, so that no change is missed. CommonJS
 * files are known by their paths: they are removed from the cache of `require` before a reload.
 *
 * @example
 * const { first, reloads } = await ModuleReloads.of('./agent.mjs', { ...use, logger: console });
 * let agent = first;
 * reloads.begin(async (version) => void (agent = version));
 */
export class ModuleReloads<T> {
  static #lastNumber = 0;
  readonly #path: string;
  readonly #files = new WatchedFiles();
  /** The numbers of the versions of this module. */
  readonly #numbers = new Set<number>();
  #newest = 0;
  #isStopped = false;

  private constructor(
    private readonly name: string,
    private readonly use: WatchedModuleUse<T>,
  ) {
    this.#path = pathOfModule(name);
    watchImports(use.ownCode, (file) => {
      if (this.#numbers.has(file.version)) this.#files.add(file);
    });
  }

  /**
   * @param name a path, relative to the working directory or absolute, or a `file:` URL
   * @returns the first version, and what loads the others
   * @throws {ModuleFailure} the module cannot be loaded, or `use.read` refuses it
   */
  static async of<T>(
    name: string,
    use: WatchedModuleUse<T>,
  ): Promise<{ first: T; reloads: ModuleReloads<T> }> {
    const reloads = new ModuleReloads(name, use);
    return { first: await reloads.#load(reloads.#number()), reloads };
  }

  /**
   * Begins to watch the files. What fails is logged, and the version before it stays.
   *
   * @param replace is called with each new version, once its files do not change any more
   */
  begin(replace: Replace<T>): void {
    void this.#files.watch(() => void this.#reload(replace));
  }

  /** No version is loaded any more. */
  stop(): void {
    this.#isStopped = true;
    this.#files.stop();
  }

  /** A version that is still being loaded when the files change again is not used. */
  async #reload(replace: Replace<T>): Promise<void> {
    const number = this.#number();
    const isNewest = () => number === this.#newest && !this.#isStopped;
    try {
      forgetCommonJs(this.use.ownCode);
      const version = await this.#load(number);
      if (!isNewest()) return;
      await replace(version, isNewest);
      if (!isNewest()) return;
      this.#files.forgetBefore(number);
      this.use.logger.log(`${this.name} has changed and was loaded again. New queries get the new version.`);
    } catch (error) {
      if (!isNewest()) return;
      const failure =
        error instanceof ModuleFailure ? error : await explainFailure(error, this.#path, this.use);
      this.use.logger.error(
        `${this.name} has changed, and the new version cannot be used. The version before it goes on answering. ${failure.message}`,
      );
    }
  }

  #number(): number {
    const number = ++ModuleReloads.#lastNumber;
    this.#numbers.add(number);
    return (this.#newest = number);
  }

  async #load(version: number): Promise<T> {
    const path = this.#path;
    this.#files.add({ version, path, fingerprint: fingerprintOf(path) });
    try {
      return await importModule(this.name, this.use, ({ href }) => urlOfVersion(href, version));
    } finally {
      for (const file of commonJsOf(version, this.use.ownCode)) this.#files.add(file);
    }
  }
}
