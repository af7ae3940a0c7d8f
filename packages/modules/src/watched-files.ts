import { setTimeout as pause } from 'node:timers/promises';
import { fingerprintOf, type VersionFile } from './module-versions.js';

/** How often the files are looked at. */
const INTERVAL_MS = 150;

/**
 * The files of the versions of a module. They are looked at again and again: unlike the notices of an operating system, that
 * works for every way in which an editor saves, for files that are not there yet, and for mounted directories.
 */
export class WatchedFiles {
  /** What each file was like when it was looked at last. */
  readonly #fingerprints = new Map<string, string>();
  readonly #pathsOf = new Map<number, Set<string>>();
  readonly #stopping = new AbortController();

  add({ version, path, fingerprint }: VersionFile): void {
    const paths = this.#pathsOf.get(version) ?? new Set();
    this.#pathsOf.set(version, paths.add(path));
    if (!this.#fingerprints.has(path)) this.#fingerprints.set(path, fingerprint);
  }

  /** From now on only the files of this version count, and of those after it. */
  forgetBefore(version: number): void {
    for (const each of [...this.#pathsOf.keys()]) if (each < version) this.#pathsOf.delete(each);
    const paths = new Set([...this.#pathsOf.values()].flatMap((each) => [...each]));
    for (const path of [...this.#fingerprints.keys()]) if (!paths.has(path)) this.#fingerprints.delete(path);
  }

  /** Calls a function when files have changed, and then do not change for an interval. Several changes are one call. */
  async watch(changed: () => void): Promise<void> {
    let isPending = false;
    while (await this.#interval()) {
      if (this.#look()) isPending = true;
      else if (isPending) {
        isPending = false;
        changed();
      }
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Whether a file has changed since it was looked at last. */
  #look(): boolean {
    let hasChanged = false;
    for (const [path, known] of this.#fingerprints) {
      const fingerprint = fingerprintOf(path);
      if (fingerprint === known) continue;
      this.#fingerprints.set(path, fingerprint);
      hasChanged = true;
    }
    return hasChanged;
  }

  async #interval(): Promise<boolean> {
    const { signal } = this.#stopping;
    return pause(INTERVAL_MS, true, { ref: false, signal }).catch(() => false);
  }
}
