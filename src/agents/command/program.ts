import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type Envelope, settlesWithin } from '../../query/index.js';
import type { CommandSettings } from './command-options.js';
import { OutputLines } from './output-lines.js';
import { ProcessGroup } from './process-group.js';
import { ProgramLog } from './program-log.js';

export const SHELL = '/bin/sh';

/** When the program has ended, others may still hold its outputs. They count as finished when silent for so many milliseconds. */
const SILENCE_MS = 1000;
/** Milliseconds that the system may take to end the processes of a group that was killed. */
const KILL_MS = 500;

/** How a program has ended. */
export interface ProgramEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The last lines of its standard error. */
  lastLines: string[];
}

/** One execution of a command: the shell, the program, and what these have started. */
export class Program {
  readonly #group: ProcessGroup;
  readonly #log: ProgramLog;
  readonly #exited: Promise<[number | null, NodeJS.Signals | null]>;
  /** Resolves when the program has ended. Others may still hold its outputs. */
  readonly exited: Promise<void>;
  #hasExited = false;
  #silence: NodeJS.Timeout | undefined;
  #isAbandoned = false;
  #stopping: Promise<void> | undefined;

  private constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    private readonly killAfterMs: number,
    input: string,
    keepsInput: boolean,
    writeLog: (line: string) => void,
  ) {
    this.#group = new ProcessGroup(child.pid!);
    this.#log = new ProgramLog(child.stderr, writeLog);
    this.#exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    this.exited = this.#exited.then(() => this.#noteExit());
    child.stdout.on('error', () => undefined);
    // A program need not read its input.
    child.stdin.on('error', () => undefined);
    child.stdin.write(input);
    if (!keepsInput) child.stdin.end();
  }

  /**
   * Starts a command.
   *
   * @param input what it reads from its standard input first
   * @param writeLog is given each line of its standard error
   * @throws the system's error
   */
  static async start(
    { command, cwd, env, stopDeadlineMs, keepInput }: CommandSettings,
    input: string,
    writeLog: (line: string) => void,
  ): Promise<Program> {
    // `detached` gives it a group of its own.
    const child = spawn(SHELL, ['-c', command], { cwd, env, detached: true, stdio: 'pipe' });
    await once(child, 'spawn');
    // The other half is for the system, and for this process to notice that the program is gone.
    return new Program(child, Math.floor(stopDeadlineMs / 2), input, keepInput, writeLog);
  }

  /** Adds a line to its standard input, if that was kept open. */
  write(line: string): void {
    this.child.stdin.write(line);
  }

  /**
   * What it writes to its standard output. It is not read faster than it is taken, so the program waits then.
   *
   * @param lineLength the most characters of a line that is an envelope
   * @throws {QueryError} `invalid_envelope`: such a line is too long
   */
  async *envelopes(lineLength: number): AsyncGenerator<Envelope[]> {
    const { stdout } = this.child;
    const lines = new OutputLines(lineLength);
    try {
      for await (const bytes of stdout.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>)
        yield lines.add(bytes);
    } catch (error) {
      if (!this.#isAbandoned) throw error;
    } finally {
      // Nothing that it still writes may block it while it stops.
      stdout.resume();
    }
    yield lines.end();
  }

  /** Waits for the end of the program. */
  async ended(): Promise<ProgramEnd> {
    const [code, signal] = await this.#exited;
    await settlesWithin(SILENCE_MS, this.#log.ended);
    return { code, signal, lastLines: this.#log.finish() };
  }

  /** Ends the program and all of its group: with SIGTERM, then with SIGKILL. Resolves when they are gone. Can be called again. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#silence);
    const isTold = !this.#hasExited && this.killAfterMs > 0;
    if (isTold) this.#group.signal('SIGTERM');
    if (!(await this.#group.goneWithin(isTold ? this.killAfterMs : 0))) {
      this.#group.signal('SIGKILL');
      await this.#group.goneWithin(KILL_MS);
    }
    await this.#exited;
    this.#group.forget();
    this.#abandonOutputs();
  }

  #noteExit(): void {
    this.#hasExited = true;
    // What is asked to stop may be silent until it is killed.
    if (!this.#stopping) this.#awaitSilence((this.child.stdout as Socket).bytesRead);
  }

  /** Looks again and again whether others still write to the standard output. What nobody takes is not silence. */
  #awaitSilence(bytesBefore: number): void {
    const stdout = this.child.stdout as Socket;
    if (stdout.readableEnded) return;
    this.#silence = setTimeout(() => {
      const isSilent = stdout.bytesRead === bytesBefore && stdout.readableLength === 0;
      if (isSilent) this.#abandonOutputs();
      else this.#awaitSilence(stdout.bytesRead);
    }, SILENCE_MS);
  }

  #abandonOutputs(): void {
    this.#isAbandoned = true;
    clearTimeout(this.#silence);
    this.#log.finish();
    this.#log.close();
    this.child.stdout.destroy();
    this.child.stdin.destroy();
  }
}
