import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { ProcessGroup, ProgramLog } from 'nest-agent-query/agents/command';
import { settlesWithin } from 'nest-agent-query/agents';
import { endProcesses, leftoversEnded, ProcessRecord } from 'nest-agent-query-adapters';
import type { AcpSettings } from '../acp-options.js';
import { Peer, PeerClosed, type PeerHandlers } from './peer.js';
import { startProgram } from './start-program.js';

/** Milliseconds that the system may take to report the end of an agent that was killed. */
const KILL_MS = 500;
/** When the agent has ended, its commands may still hold its outputs. They count as finished when silent for so many milliseconds. */
const SILENCE_MS = 500;

/** How an agent has ended. */
export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The last lines of its standard error. */
  lastLines: string[];
}

export type ProcessSettings = Pick<
  AcpSettings,
  'command' | 'args' | 'directory' | 'stopDeadlineMs' | 'lineLength'
>;

/** How an agent is started. */
export interface ProcessStart {
  env: Record<string, string>;
  cwd: string;
  /** See `MARKER`. */
  marker: string;
  handlers: PeerHandlers;
  /** Is given each line of its standard error. */
  log: (line: string) => void;
}

/** An agent, and what it has started. */
export class AgentProcess {
  readonly peer: Peer;
  /** Resolves when the agent has ended. What it has written may still be read, and its commands may go on: see `stop`. */
  readonly exited: Promise<ProcessEnd>;
  readonly #group: ProcessGroup;
  readonly #log: ProgramLog;
  #hasExited = false;
  #silence: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;

  private constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    private readonly settings: ProcessSettings,
    private readonly start: ProcessStart,
    private readonly record: ProcessRecord,
  ) {
    this.#group = new ProcessGroup(child.pid!);
    this.#log = new ProgramLog(child.stderr, start.log);
    this.peer = new Peer({ input: child.stdout, output: child.stdin }, start.handlers, settings);
    this.exited = this.#ended();
  }

  /**
   * Starts an agent, after those are gone that a killed service has left in the same directory.
   *
   * @throws {Error} the folder or the program is missing, with a sentence that says which · the system's error. No process is left then
   */
  static async start(settings: ProcessSettings, start: ProcessStart): Promise<AgentProcess> {
    await leftoversEnded(settings.directory);
    const record = await ProcessRecord.of(settings.directory, start.marker);
    let child: ChildProcessWithoutNullStreams;
    try {
      child = await startProgram(settings, start);
    } catch (error) {
      await record.remove();
      throw error;
    }
    const started = new AgentProcess(child, settings, start, record);
    try {
      await record.started(child.pid!);
    } catch (error) {
      await started.stop();
      throw error;
    }
    return started;
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Whether this process may end while the agent lives: it is idle then, and is killed at that end. */
  letExit(mayExit: boolean): void {
    const handles = [
      this.child,
      this.child.stdin,
      this.child.stdout,
      this.child.stderr,
    ] as unknown as Socket[];
    for (const handle of handles)
      if (mayExit) handle.unref();
      else handle.ref();
  }

  /**
   * Ends the agent and what it has started: SIGTERM to its group, SIGKILL after half of the time for stopping, and then to all that has
   * left the group. Resolves when all is gone, or cannot be ended by this user. Never rejects. Can be called again.
   */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    // It may wait until its output is read, and some agents end when their input does.
    this.peer.close(new PeerClosed('The agent was stopped.'));
    this.child.stdin.end();
    const killAfterMs = Math.floor(this.settings.stopDeadlineMs / 2);
    await endProcesses(this.#group, this.start.marker, this.#hasExited ? 0 : killAfterMs);
    await this.#leave();
  }

  async #leave(): Promise<void> {
    const isGone = await settlesWithin(SILENCE_MS + KILL_MS, this.exited);
    if (!isGone)
      this.start.log(`The process ${this.pid} of the agent cannot be ended. It may run as another user.`);
    clearTimeout(this.#silence);
    this.#group.forget();
    this.#log.close();
    this.child.stdout.destroy();
    this.child.stdin.destroy();
    if (isGone) await this.record.remove().catch((error: Error) => this.start.log(error.message));
  }

  async #ended(): Promise<ProcessEnd> {
    const [code, signal] = (await once(this.child, 'exit')) as [number | null, NodeJS.Signals | null];
    this.#hasExited = true;
    const stdout = this.child.stdout as Socket;
    this.#closeWhenSilent(stdout, stdout.bytesRead);
    await settlesWithin(SILENCE_MS, this.#log.ended);
    return { code, signal, lastLines: this.#log.finish() };
  }

  /** Closes the peer when nothing more is written. What nobody takes is not silence. */
  #closeWhenSilent(stdout: Socket, bytesBefore: number): void {
    if (this.#stopping || stdout.readableEnded) return;
    this.#silence = setTimeout(() => {
      const isSilent = stdout.bytesRead === bytesBefore && !stdout.isPaused();
      if (isSilent) this.peer.close(new PeerClosed('The agent has ended.'));
      else this.#closeWhenSilent(stdout, stdout.bytesRead);
    }, SILENCE_MS);
  }
}
