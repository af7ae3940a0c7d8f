import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import type { QueryContext, SessionRef } from 'nest-agent-query';
import { threadOf } from 'nest-agent-query-adapters';

const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin';

const PRIVATE = 0o700;

/** How often Claude Code repeats a refused request: with its own default, a wrong key takes half a minute. */
const FEW_RETRIES = { CLAUDE_CODE_MAX_RETRIES: '2' };
const QUIET = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' };

/** The files of one conversation: the home of its owner, its working directory, and what Claude Code has written down of it. */
export class Place {
  /** What Claude Code calls the conversation: a UUID made of owner and session. */
  readonly conversation: string;
  readonly #home: string;
  readonly #session: string;

  /** @param id of the session, or of a run without one */
  constructor(directory: string, { owner, id }: SessionRef) {
    const digest = threadOf({ owner, id });
    // RFC 9562: the 13th digit is the version, the 17th the variant.
    const digits = `${digest.slice(0, 12)}5${digest.slice(13, 16)}a${digest.slice(17, 32)}`;
    this.conversation = digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    const ofOwner = join(directory, threadOf({ owner, id: '' }));
    this.#home = join(ofOwner, 'home');
    this.#session = join(ofOwner, 'sessions', digest);
  }

  get cwd(): string {
    return join(this.#session, 'work');
  }

  async make(): Promise<void> {
    for (const folder of [this.#home, this.cwd]) await mkdir(folder, { recursive: true, mode: PRIVATE });
  }

  /** The whole environment of the program: nothing else of the service. */
  environment(env: Record<string, string>): Record<string, string> {
    const usual = { PATH: `${dirname(process.execPath)}:${SYSTEM_PATH}`, LANG: 'C.UTF-8', TMPDIR: tmpdir() };
    const home = { HOME: this.#home, CLAUDE_CONFIG_DIR: join(this.#home, '.claude') };
    return { ...usual, ...QUIET, ...FEW_RETRIES, ...env, ...home };
  }

  /**
   * Whether Claude Code has this conversation, with the newest turn of the session in it: not that of a fork, and not one that went
   * on elsewhere.
   */
  async knows({ history, runId }: Pick<QueryContext, 'history' | 'runId'>): Promise<boolean> {
    if ((await this.#transcripts()).length === 0) return false;
    const last = await readFile(this.#lastRun, 'utf8').catch(() => '');
    return last === runId || (last !== '' && last === history.at(-1)?.runId);
  }

  /** Notes that the conversation has a run from now on. */
  async begin(runId: string): Promise<void> {
    await writeFile(this.#lastRun, runId, { mode: 0o600 });
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
    await rm(this.#lastRun, { force: true });
  }

  /** Removes everything of the conversation. */
  async remove(): Promise<void> {
    await this.forget();
    await rm(this.#session, { recursive: true, force: true });
  }

  get #lastRun(): string {
    return join(this.#session, 'last-run');
  }

  async #transcripts(): Promise<string[]> {
    const projects = join(this.#home, '.claude/projects');
    const name = `${this.conversation}.jsonl`;
    const found: string[] = [];
    for (const project of await readdir(projects).catch(() => []))
      if ((await readdir(join(projects, project)).catch((): string[] => [])).includes(name))
        found.push(join(projects, project, name));
    return found;
  }
}
