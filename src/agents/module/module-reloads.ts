import { Logger } from '@nestjs/common';
import { explainFailure } from './explain-failure.js';
import { loadModule, type ModuleHandler } from './load-module.js';
import { ModuleFailure } from './module-failure.js';
import { pathOfModule } from './module-file.js';
import { fingerprintOf, urlOfVersion } from './module-versions.js';
import { commonJsOf, forgetCommonJs, watchImports } from './watch-imports.js';
import { WatchedFiles } from './watched-files.js';

/** Begins to use a handler. `isNewest` says whether the files have not changed again by then. */
export type Use = (handler: ModuleHandler, isNewest: () => boolean) => Promise<void>;

/** Loads a module again when its file has changed, or a file that it imports. Packages are not loaded again. */
export class ModuleReloads {
  static #lastNumber = 0;
  readonly #logger = new Logger('Watch');
  readonly #path: string;
  readonly #files = new WatchedFiles();
  /** The numbers of the versions of this module. */
  readonly #numbers = new Set<number>();
  #newest = 0;
  #isStopped = false;

  private constructor(private readonly name: string) {
    this.#path = pathOfModule(name);
    watchImports((file) => {
      if (this.#numbers.has(file.version)) this.#files.add(file);
    });
  }

  /** @throws {ModuleFailure} the module cannot be loaded */
  static async of(name: string): Promise<{ first: ModuleHandler; reloads: ModuleReloads }> {
    const reloads = new ModuleReloads(name);
    return { first: await reloads.#load(reloads.#number()), reloads };
  }

  /** Begins to watch the files. */
  begin(use: Use): void {
    void this.#files.watch(() => void this.#reload(use));
  }

  stop(): void {
    this.#isStopped = true;
    this.#files.stop();
  }

  /** A version that is still being loaded when the files change again is not used. */
  async #reload(use: Use): Promise<void> {
    const number = this.#number();
    const isNewest = () => number === this.#newest && !this.#isStopped;
    try {
      forgetCommonJs();
      const handler = await this.#load(number);
      if (!isNewest()) return;
      await use(handler, isNewest);
      if (!isNewest()) return;
      this.#files.forgetBefore(number);
      this.#logger.log(`${this.name} has changed and was loaded again. New queries get the new version.`);
    } catch (error) {
      if (!isNewest()) return;
      const { message } = error instanceof ModuleFailure ? error : await explainFailure(error, this.#path);
      this.#logger.error(
        `${this.name} has changed, and the new version cannot be used. The version before it goes on answering. ${message}`,
      );
    }
  }

  #number(): number {
    const number = ++ModuleReloads.#lastNumber;
    this.#numbers.add(number);
    return (this.#newest = number);
  }

  async #load(version: number): Promise<ModuleHandler> {
    const path = this.#path;
    this.#files.add({ version, path, fingerprint: fingerprintOf(path) });
    try {
      return await loadModule(this.name, ({ href }) => urlOfVersion(href, version));
    } finally {
      for (const file of commonJsOf(version)) this.#files.add(file);
    }
  }
}
