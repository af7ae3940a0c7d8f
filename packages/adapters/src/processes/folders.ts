import { hash } from 'node:crypto';
import { mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** What is known of the agent's session after a turn of it. */
export interface SessionRecord {
  /** The id that the agent has given it. */
  agentSession: string;
  /** The run whose prompt the session has got last. */
  run: string;
}

/** Where the agent of one session works. */
export interface Place {
  home: string;
  /** The folder in which it works, if the host gives none. */
  folder: string;
  /** The file of `SessionRecord`. */
  record: string;
}

/** Where the folders are. */
export interface FolderSettings {
  /** An absolute path. */
  directory: string;
  /** `owner`: each owner has a home; a path: the home of all. */
  home: string;
}

/**
 * The folders of owners and sessions. Their names are digests: owners and ids are any strings.
 *
 * @example
 * const folders = new Folders({ directory, home: 'owner' });
 * const { home, folder } = await folders.place(context.owner, `session ${session.id}`);
 */
export class Folders {
  /** The last change of each owner's folders, so that none is made while they are removed. */
  readonly #changes = new Map<string, Promise<unknown>>();

  constructor(private readonly settings: FolderSettings) {}

  /**
   * Makes the folders of a session, which only this user can read.
   *
   * @param session of the owner, or of a run without one
   * @throws {Error} something else is where a folder should be · the system's error
   */
  async place(owner: string, session: string): Promise<Place> {
    const place = this.placeOf(owner, session);
    await this.#change(owner, async () => {
      for (const folder of [place.home, place.folder, dirname(place.record)]) await makeFolder(folder);
    });
    return place;
  }

  /** What is known of the agent's session is of the past; the files stay. @throws the system's error */
  async forget(owner: string, session: string): Promise<void> {
    await rm(this.placeOf(owner, session).record, { force: true });
  }

  /** Removes what a session has; and what its owner has, with the last session. @throws the system's error */
  async erase(owner: string, session: string): Promise<void> {
    const { folder, record } = this.placeOf(owner, session);
    await this.#change(owner, async () => {
      await rm(folder, { recursive: true, force: true });
      await rm(record, { force: true });
      if (await hasNone(dirname(folder))) await rm(this.#ownerOf(owner), { recursive: true, force: true });
    });
  }

  /** What the last turn of the session has left; undefined if there was none. */
  async read({ record }: Place): Promise<SessionRecord | undefined> {
    try {
      const { agentSession, run } = JSON.parse(await readFile(record, 'utf8')) as Partial<SessionRecord>;
      return typeof agentSession === 'string' && typeof run === 'string' ? { agentSession, run } : undefined;
    } catch {
      // There is none yet, or it was cut: the session begins anew.
      return undefined;
    }
  }

  /** @throws the system's error */
  async write({ record }: Place, content: SessionRecord): Promise<void> {
    const draft = `${record}.new`;
    await writeFile(draft, JSON.stringify(content), { mode: 0o600 });
    await rename(draft, record);
  }

  async #change(owner: string, change: () => Promise<void>): Promise<void> {
    const changed = (this.#changes.get(owner) ?? Promise.resolve()).then(change);
    const settled = changed.catch(() => undefined);
    this.#changes.set(owner, settled);
    await settled;
    if (this.#changes.get(owner) === settled) this.#changes.delete(owner);
    return changed;
  }

  #ownerOf(owner: string): string {
    return join(this.settings.directory, 'owners', digest(owner));
  }

  /** Where the folders of a session are. They may not exist yet: see `place`. */
  placeOf(owner: string, session: string): Place {
    const of = this.#ownerOf(owner);
    const name = digest(session);
    const { home } = this.settings;
    return {
      home: home === 'owner' ? join(of, 'home') : home,
      folder: join(of, 'work', name),
      record: join(of, 'sessions', `${name}.json`),
    };
  }
}

/** Every session has a folder there. */
async function hasNone(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/**
 * Makes a folder that only this user can read, if it is missing, and the folders above it.
 *
 * @throws {Error} something else has its name · the system's error
 *
 * @example
 * await makeFolder('/var/lib/agent/homes');
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Error(`The folder ${JSON.stringify(path)} cannot be made: something else has its name.`, {
      cause: error,
    });
  }
}

function digest(name: string): string {
  return hash('sha256', name, 'hex').slice(0, 32);
}
