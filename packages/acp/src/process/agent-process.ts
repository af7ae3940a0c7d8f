import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { ProcessGroup, ProgramLog } from 'nest-agent-query/agents/command';
import { settlesWithin } from 'nest-agent-query/agents';
import type { AcpSettings } from '../acp-options.js';
import { Peer, PeerClosed, type PeerHandlers } from './peer.js';
import { endStrays } from './strays.js';

/** Milliseconds that the system may take to end the processes of a group that was killed. */
const KILL_MS = 500;
/** When the agent has ended, its commands may still hold its outputs. So many milliseconds are waited for the last lines. */
const LAST_LINES_MS = 500;

/** How an agent has ended. */
export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The last lines of its standard error. */
  lastLines: string[];
}

export type ProcessSettings = Pick<AcpSettings, 'command' | 'args' | 'stopDeadlineMs' | 'lineLength'>;

/** How an agent is started. */
export interface ProcessStart {
  env: Record<string, string>;
  cwd: string;
  /** See `MARKER`. */
  marker: string;
  handlers: PeerHandlers;
  /** Is given each line of its standard error. */
  log(line: string): void;
}

/** An agent, and what it has started. */
export class AgentProcess {
  readonly peer: Peer;
  readonly exited: Promise<ProcessEnd>;
  readonly #group: ProcessGroup;
  readonly #log: ProgramLog;
  #hasExited = false;
  #stopping: Promise<void> | undefined;

  private constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    private readonly settings: ProcessSettings,
    private readonly start: ProcessStart,
  ) {
    this.#group = new ProcessGroup(child.pid!);
    this.#log = new ProgramLog(child.stderr, (line) => start.log(line));
    const io = { input: child.stdout, output: child.stdin };
    this.peer = new Peer(io, start.handlers, settings);
    this.exited = once(child, 'exit').then(async ([code, signal]) => {
      this.#hasExited = true;
      await settlesWithin(LAST_LINES_MS, this.#log.ended);
      this.peer.close(new PeerClosed('The agent has ended.'));
      return {
        code: code as number | null,
        signal: signal as NodeJS.Signals | null,
        lastLines: this.#log.finish(),
      };
    });
  }

  /** @throws the system's error */
  static async start(settings: ProcessSettings, start: ProcessStart): Promise<AgentProcess> {
    const { command, args } = settings;
    const { cwd, env } = start;
    // `detached` gives it a group of its own.
    const options = { cwd, env, detached: true, stdio: 'pipe' } as const;
    const child = args ? spawn(command, args, options) : spawn('/bin/sh', ['-c', command], options);
    await once(child, 'spawn');
    return new AgentProcess(child, settings, start);
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Ends the agent and what it has started. Resolves when all is gone. Can be called again. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    const killAfterMs = Math.floor(this.settings.stopDeadlineMs / 2);
    const isTold = !this.#hasExited && killAfterMs > 0;
    if (isTold) this.#group.signal('SIGTERM');
    if (!(await this.#group.goneWithin(isTold ? killAfterMs : 0))) {
      this.#group.signal('SIGKILL');
      await this.#group.goneWithin(KILL_MS);
    }
    await endStrays(this.start.marker);
    await this.exited;
    this.#group.forget();
    this.#log.close();
    this.child.stdout.destroy();
    this.child.stdin.destroy();
  }
}
