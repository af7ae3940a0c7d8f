import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { QueryContext, SessionRef } from 'nest-agent-query';
import { environmentOf, type Folders, type Place as PlaceOfAgent, threadOf } from 'nest-agent-query-adapters';

/** How often Claude Code repeats a refused request: with its own default, a wrong key takes half a minute. */
const FEW_RETRIES = { CLAUDE_CODE_MAX_RETRIES: '2' };
const QUIET = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' };

/** The files of one conversation: the home of its owner, its working directory, and what Claude Code has written down of it. */
export class Place {
  /** What Claude Code calls the conversation: a UUID made of owner and session. */
  readonly conversation: string;
  readonly #place: PlaceOfAgent;

  /** @param ref its `id` is that of the session, or of a run without one */
  constructor(
    private readonly folders: Folders,
    private readonly ref: SessionRef,
  ) {
    const digest = threadOf(ref);
    // RFC 9562: the 13th digit is the version, the 17th the variant.
    const digits = `${digest.slice(0, 12)}5${digest.slice(13, 16)}a${digest.slice(17, 32)}`;
    this.conversation = digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    this.#place = folders.placeOf(ref.owner, ref.id);
  }

  get cwd(): string {
    return this.#place.folder;
  }

  async make(): Promise<void> {
    await this.folders.place(this.ref.owner, this.ref.id);
  }

  /** The whole environment of the program, but for its marker. */
  environment(env: Record<string, string>): Record<string, string> {
    const { home } = this.#place;
    const own = { HOME: home, CLAUDE_CONFIG_DIR: join(home, '.claude') };
    return environmentOf(home, undefined, { ...QUIET, ...FEW_RETRIES, ...env, ...own });
  }

  /**
   * Whether Claude Code has this conversation, with the newest turn of the session in it: not that of a fork, and not one that went
   * on elsewhere.
   */
  async knows({ history, runId }: Pick<QueryContext, 'history' | 'runId'>): Promise<boolean> {
    if ((await this.#transcripts()).length === 0) return false;
    const last = (await this.folders.read(this.#place))?.run;
    return last !== undefined && (last === runId || last === history.at(-1)?.runId);
  }

  /** Notes that the conversation has a run from now on. */
  async begin(runId: string): Promise<void> {
    await this.folders.write(this.#place, { agentSession: this.conversation, run: runId });
  }

  /** Whether the conversation has the result of a call. */
  async hasResult(callId: string): Promise<boolean> {
    const text = JSON.stringify({ tool_use_id: callId }).slice(1, -1);
    for (const path of await this.#transcripts())
      if ((await readFile(path, 'utf8').catch(() => '')).includes(text)) return true;
    return false;
  }

  /** Removes what Claude Code has written down, and leaves the working directory. */
  async forget(): Promise<void> {
    for (const path of await this.#transcripts())
      for (const each of [path, path.slice(0, -'.jsonl'.length)])
        await rm(each, { recursive: true, force: true });
    await rm(this.#place.record, { force: true });
  }

  /** Removes everything of the conversation, and what its owner has, with the last one. */
  async remove(): Promise<void> {
    await this.forget();
    await this.folders.erase(this.ref.owner, this.ref.id);
  }

  async #transcripts(): Promise<string[]> {
    const projects = join(this.#place.home, '.claude/projects');
    const name = `${this.conversation}.jsonl`;
    const found: string[] = [];
    for (const project of await readdir(projects).catch(() => []))
      if ((await readdir(join(projects, project)).catch((): string[] => [])).includes(name))
        found.push(join(projects, project, name));
    return found;
  }
}
