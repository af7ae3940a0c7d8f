import { hash } from 'node:crypto';
import { mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AcpSettings } from '../acp-options.js';

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

/** The folders of owners and sessions. Their names are digests: owners and ids are any strings. */
export class Folders {
  constructor(private readonly settings: Pick<AcpSettings, 'directory' | 'home'>) {}

  /** @param session of the owner, or of a run without one */
  async place(owner: string, session: string): Promise<Place> {
    const place = this.#placeOf(owner, session);
    for (const folder of [place.home, place.folder, join(this.#ownerOf(owner), 'sessions')])
      await mkdir(folder, { recursive: true, mode: 0o700 });
    return place;
  }

  /** Removes what a session has; and what its owner has, with the last session. */
  async erase(owner: string, session: string): Promise<void> {
    const { folder, record } = this.#placeOf(owner, session);
    await rm(folder, { recursive: true, force: true });
    await rm(record, { force: true });
    const of = this.#ownerOf(owner);
    const sessions = join(of, 'sessions');
    try {
      await rmdir(sessions);
    } catch {
      // The owner has another session.
      return;
    }
    await rm(of, { recursive: true, force: true });
  }

  async read({ record }: Place): Promise<SessionRecord | undefined> {
    try {
      const { agentSession, run } = JSON.parse(await readFile(record, 'utf8')) as Partial<SessionRecord>;
      return typeof agentSession === 'string' && typeof run === 'string' ? { agentSession, run } : undefined;
    } catch {
      // There is none yet, or it was cut: the session begins anew.
      return undefined;
    }
  }

  async write({ record }: Place, content: SessionRecord): Promise<void> {
    const draft = `${record}.new`;
    await writeFile(draft, JSON.stringify(content), { mode: 0o600 });
    await rename(draft, record);
  }

  #ownerOf(owner: string): string {
    return join(this.settings.directory, 'owners', digest(owner));
  }

  #placeOf(owner: string, session: string): Place {
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

function digest(name: string): string {
  return hash('sha256', name, 'hex').slice(0, 32);
}
