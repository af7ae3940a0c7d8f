import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { settlesWithin } from 'nest-agent-query/agents';
import { ProcessGroup, ProgramLog } from 'nest-agent-query/agents/command';
import { endProcesses, MARKER, ProcessRecord } from 'nest-agent-query-adapters';

/** Milliseconds that the program has to end after SIGTERM. */
const TERM_MS = 1_000;
/** Milliseconds that the system may take to report the end of a program that was killed. */
const KILL_MS = 500;

/** What the SDK asks for. */
export interface SpawnRequest {
  command: string;
  args: string[];
  cwd?: string;
  env: Record<string, string | undefined>;
}

interface Started {
  child: ChildProcess;
  group: ProcessGroup;
  log: ProgramLog;
  exited: Promise<void>;
}

/** The program `claude` of one query, and what it has started. */
export class ClaudeProcess {
  #started: Started | undefined;
  #noted: Promise<void> | undefined;

  private constructor(
    private readonly marker: string,
    private readonly record: ProcessRecord,
    private readonly log: (line: string) => void,
  ) {}

  /**
   * Notes that a program is about to be started, so that the next start of the service ends it if this one is killed.
   *
   * @param log is given each line of its standard error
   * @throws the system's error
   */
  static async prepare(directory: string, log: (line: string) => void): Promise<ClaudeProcess> {
    const marker = randomUUID();
    return new ClaudeProcess(marker, await ProcessRecord.of(directory, marker), log);
  }

  /** Starts it. The SDK is told of a program that cannot be started by the event `error`. */
  start({ command, args, cwd, env }: SpawnRequest): ChildProcess {
    // `detached` gives it a group of its own.
    const options = { cwd, env: { ...env, [MARKER]: this.marker }, detached: true, stdio: 'pipe' } as const;
    const child = spawn(command, args, options);
    if (child.pid === undefined) return child;
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const log = new ProgramLog(child.stderr, this.log);
    this.#started = { child, group: new ProcessGroup(child.pid), log, exited };
    // What the record lacks then, the marker says.
    this.#noted = this.record.started(child.pid).catch(() => undefined);
    return child;
  }

  /** Ends the program and what it has started. Resolves when all is gone. Never rejects. */
  async stop(): Promise<void> {
    if (this.#started) await this.#end(this.#started);
    await this.#noted;
    await this.record.remove().catch((error: Error) => this.log(error.message));
  }

  async #end({ child, group, log, exited }: Started): Promise<void> {
    const hasExited = child.exitCode !== null || child.signalCode !== null;
    await endProcesses(group, this.marker, hasExited ? 0 : TERM_MS);
    await settlesWithin(KILL_MS, exited);
    group.forget();
    log.finish();
    log.close();
    child.stdin?.destroy();
    child.stdout?.destroy();
  }
}
