import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Role, RunOptions } from '../../../src/index.js';
import { request } from '../client.js';

/** What the service logs only if it has a defect. */
const DEFECTS =
  /A request failed|unhandled|TypeError|ReferenceError|RangeError|unexpected error|could not be stored|cannot be stored|cannot be observed/i;

/** What a process of a cluster does. */
export interface MemberOptions {
  name: string;
  /** The URL of its database. */
  database: string;
  /** The path of the file in which its agent notes each call. */
  journal: string;
  /** The URL of the gates at which its agent waits. */
  gates: string;
  /** Default `all`. */
  role?: Role;
  leaseMs?: number;
  runs?: Partial<RunOptions>;
  /** How often its agent may be executed again. Default 0. */
  restarts?: number;
  postgres?: {
    statementTimeoutMs?: number;
    connectTimeoutMs?: number;
    poolSize?: number;
    directUrl?: string;
  };
  /** The name of a queue of BullMQ on its database. Default: none, the signals of the store bring waiting runs. */
  queue?: string;
  /** How long its streams are silent before a keep-alive, in milliseconds. Default: that of the service. */
  keepAliveMs?: number;
  /** The directory of the compiled service. Default: that of this version. */
  dist?: string;
  /** The path of the file in which it notes its spans. Default: it has no tracer. */
  spans?: string;
  /** By how much its clock is ahead, in milliseconds. Default 0. */
  clockMs?: number;
}

/** A process of a cluster. */
export class Member {
  /** The URL of the service. */
  url = '';
  /** What the process has logged. */
  log = '';
  /** Whether it was frozen, or cut off from its database, for so long that it may have lost its lease. */
  wasFrozen = false;
  /** Resolves with the signal that ended the process, or its exit code. */
  readonly exited: Promise<NodeJS.Signals | number | null>;

  private constructor(
    readonly options: MemberOptions,
    private readonly child: ChildProcess,
  ) {
    this.exited = once(child, 'exit').then(([code, signal]) => (signal ?? code) as NodeJS.Signals | number);
    for (const output of [child.stdout!, child.stderr!])
      output.setEncoding('utf8').on('data', (text: string) => (this.log += text));
  }

  /** Starts a process. Resolves when it listens; rejects with what it has logged if it ends before. */
  static async start(options: MemberOptions): Promise<Member> {
    const { clockMs = 0, spans = '' } = options;
    const preloaded = [
      ...(clockMs === 0 ? [] : ['shifted-clock.mjs']),
      ...(spans === '' ? [] : ['instrumentation.mjs']),
    ].flatMap((name) => ['--import', join(import.meta.dirname, name)]);
    const program = join(import.meta.dirname, 'member-process.mjs');
    const child = spawn(process.execPath, [...preloaded, program, JSON.stringify(options)], {
      env: { PATH: process.env['PATH'], NO_COLOR: '1', CLOCK_MS: `${clockMs}`, SPANS: spans },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const member = new Member(options, child);
    const url = await Promise.race([listening(child), member.exited]);
    if (typeof url !== 'string' || !url.startsWith('http'))
      throw new Error(`The process ${options.name} does not start (${url}):\n${member.log}`);
    member.url = url;
    return member;
  }

  get name(): string {
    return this.options.name;
  }

  get pid(): number {
    return this.child.pid!;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Whether it admits queries and serves runs. */
  get hasEndpoint(): boolean {
    return this.options.role !== 'worker';
  }

  /** The lines of its log that only a defect causes. */
  get defects(): string[] {
    return this.log.split('\n').filter((line) => DEFECTS.test(line));
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Stops the process as a debugger or the move of a virtual machine does, until `wake`. */
  freeze(): void {
    this.wasFrozen = true;
    this.signal('SIGSTOP');
  }

  wake(): void {
    this.signal('SIGCONT');
  }

  /** Ends the process at once. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
  }

  /** Asks the process to end in order. Resolves with its exit code, or the signal that ended it. */
  stop(): Promise<NodeJS.Signals | number | null> {
    this.signal('SIGTERM');
    return this.exited;
  }

  /** Whether it takes no new connections. */
  async isClosed(): Promise<boolean> {
    return request(this.url, { method: 'GET' }).then(
      async (reply) => (await reply.whole(), false),
      () => true,
    );
  }
}

/** The URL of the service, when it has printed it. */
async function listening(child: ChildProcess): Promise<string> {
  const lines = createInterface(child.stdout!);
  return new Promise((resolve) => {
    lines.on('line', (line) => {
      const url = /^listens on (\S+)$/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
}
