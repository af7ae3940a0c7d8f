import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FilePart, fileType, type Query, type QueryContext } from 'nest-agent-query';
import { fileName, type Folders, type Place, type SessionRecord } from 'nest-agent-query-adapters';
import type { AcpSettings } from '../acp-options.js';

/** Where the agent of a run works, and what is known of its session. */
export class Workplace {
  #files = 0;

  private constructor(
    private readonly folders: Folders,
    private readonly context: QueryContext,
    private readonly place: Place,
    /** The folder in which the agent works. */
    readonly cwd: string,
  ) {}

  /** Makes the folders. @throws {Error} the folder that the host has named is none */
  static async of(
    settings: AcpSettings,
    folders: Folders,
    query: Query,
    context: QueryContext,
  ): Promise<Workplace> {
    const place = await folders.place(context.owner, sessionKey(context));
    const { cwd: given } = settings;
    const cwd = typeof given === 'function' ? await given(query, context) : (given ?? place.folder);
    await refuseMissingFolder(cwd);
    return new Workplace(folders, context, place, cwd);
  }

  get home(): string {
    return this.place.home;
  }

  record(): Promise<SessionRecord | undefined> {
    return this.folders.read(this.place);
  }

  /** @param agentSession has got the prompt of this run, or is about to get it */
  async keep(agentSession: string): Promise<void> {
    await this.folders.write(this.place, { agentSession, run: this.context.runId });
  }

  /** Writes a file of the query where the agent can read it. */
  readonly keepFile = async (part: FilePart): Promise<string> => {
    const folder = join(this.place.folder, 'attachments', this.context.runId, String(++this.#files));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, fileName(await fileType(part), part.name));
    await writeFile(path, part.file.stream(), { mode: 0o600, signal: this.context.signal });
    return path;
  };

  /** Removes what a run without a session has. */
  async leave(): Promise<void> {
    const { owner, session } = this.context;
    if (!session) await this.folders.erase(owner, sessionKey(this.context));
  }
}

/** @throws {Error} there is no such folder */
export async function refuseMissingFolder(cwd: string): Promise<void> {
  const found = await stat(cwd).catch(() => undefined);
  if (!found?.isDirectory())
    throw new Error(
      `The folder ${JSON.stringify(cwd)} of the option cwd does not exist. Make it, or correct its path.`,
    );
}

/** Names the session of a run among those of its owner. A run without one is a session of its own. */
function sessionKey({ runId, session }: QueryContext): string {
  return session ? sessionName(session.id) : `run ${runId}`;
}

/** Names a session among its owner's folders. */
export function sessionName(id: string): string {
  return `session ${id}`;
}

/** Names the session in the pool. */
export function poolKey(owner: string, sessionId: string): string {
  return JSON.stringify([owner, sessionId]);
}
