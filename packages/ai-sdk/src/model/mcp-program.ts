import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { MCPTransport } from '@ai-sdk/mcp';
import { settlesWithin } from 'nest-agent-query/agents';
import type { McpProgramOptions } from './mcp-options.js';

type Message = Parameters<MCPTransport['send']>[0];
type SendOptions = Parameters<MCPTransport['send']>[1];

/** The most characters of one message that are kept until it is whole. */
const MESSAGE_LENGTH = 64 * 1024 * 1024;

/** How long a program may take to end by itself, and then after SIGTERM. */
const END_MS = 1_000;

/** Variables of the service that a program gets, as other clients of MCP servers pass them on. */
const INHERITED = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

/** The process groups of all programs. They end with the service, also if that ends without order. */
const groups = new Set<number>();
const killAll = () => groups.forEach((group) => signal(group, 'SIGKILL'));

/** What happens to a program. */
export interface McpProgramEvents {
  /** A line of its standard error. */
  wrote: (line: string) => void;
  /** It has ended, wanted or not. */
  ended: (how: string) => void;
}

/**
 * An MCP server that is a program. It has a process group of its own, so that Ctrl-C reaches the service alone, which ends the
 * runs first and then the whole group.
 */
export class McpProgram implements MCPTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: Message) => void;
  #child: ChildProcess | undefined;
  /** For each request without an answer: stops waiting for its signal. */
  readonly #unanswered = new Map<unknown, () => void>();
  #begun: string[] = [];
  #begunLength = 0;

  constructor(
    private readonly options: McpProgramOptions,
    private readonly events: McpProgramEvents,
    private readonly environment: Record<string, string | undefined>,
  ) {}

  async start(): Promise<void> {
    const { command, args = [], env = {}, cwd } = this.options;
    const inherited = INHERITED.map((name) => [name, this.environment[name]]);
    const child = spawn(command, args, {
      env: { ...(Object.fromEntries(inherited) as NodeJS.ProcessEnv), ...env },
      ...(cwd !== undefined && { cwd }),
      detached: true,
      stdio: 'pipe',
    });
    this.#child = child;
    child.once('exit', (code, by) =>
      this.#ended(child, code === null ? `by ${by}` : `with the code ${code}`),
    );
    await once(child, 'spawn');
    if (groups.size === 0) process.on('exit', killAll);
    groups.add(child.pid!);
    child.stdin.on('error', () => undefined);
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#log(text));
  }

  async send(message: Message, { signal: unwanted }: SendOptions = {}): Promise<void> {
    const { stdin } = this.#child ?? {};
    if (!stdin?.writable) throw new Error('The MCP server has ended.');
    if (unwanted && 'id' in message && 'method' in message) this.#cancelWhen(unwanted, message.id);
    if (stdin.write(`${JSON.stringify(message)}\n`)) return;
    const waiting = new AbortController();
    const events = ['drain', 'close'].map((name) => once(stdin, name, { signal: waiting.signal }));
    await Promise.race(events).finally(() => waiting.abort());
  }

  /** Ends the program as the protocol says: closes its input, then asks it to end, then kills it. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    const ended =
      child.exitCode === null && child.signalCode === null ? once(child, 'exit') : Promise.resolve();
    child.stdin!.end();
    if (!(await settlesWithin(END_MS, ended))) {
      signal(child.pid, 'SIGTERM');
      await settlesWithin(END_MS, ended);
    }
    signal(child.pid, 'SIGKILL');
    await ended;
  }

  #cancelWhen(unwanted: AbortSignal, id: string | number): void {
    const cancel = () => this.#cancel(id);
    unwanted.addEventListener('abort', cancel);
    this.#unanswered.set(id, () => unwanted.removeEventListener('abort', cancel));
  }

  /** The signal may abort long after the request, at the end of the run. */
  #forget(id: unknown): void {
    this.#unanswered.get(id)?.();
    this.#unanswered.delete(id);
  }

  #cancel(requestId: string | number): void {
    this.#forget(requestId);
    const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } };
    if (this.#child?.stdin?.writable) this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #ended(child: ChildProcess, how: string): void {
    if (child.pid !== undefined) {
      // What it has started may still be there.
      signal(child.pid, 'SIGKILL');
      groups.delete(child.pid);
      if (groups.size === 0) process.off('exit', killAll);
    }
    this.#child = undefined;
    for (const id of this.#unanswered.keys()) this.#forget(id);
    this.events.ended(how);
    this.onclose?.();
  }

  /** Messages are lines of JSON. Other lines are ignored: some programs write texts for people to their standard output. */
  #read(text: string): void {
    const lines = text.split('\n');
    this.#begun.push(lines.shift()!);
    this.#begunLength += this.#begun.at(-1)!.length;
    if (this.#begunLength > MESSAGE_LENGTH) {
      this.#begun = [];
      this.#begunLength = 0;
      signal(this.#child!.pid!, 'SIGKILL');
      return;
    }
    if (lines.length === 0) return;
    const rest = lines.pop()!;
    for (const line of [this.#begun.join(''), ...lines]) this.#take(line);
    this.#begun = [rest];
    this.#begunLength = rest.length;
  }

  #take(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return;
    }
    if (typeof message !== 'object' || message === null) return;
    if ('id' in message && !('method' in message)) this.#forget(message.id);
    this.onmessage?.(message as Message);
  }

  #log(text: string): void {
    for (const line of text.split('\n')) if (line.trim() !== '') this.events.wrote(line);
  }
}

/** Sends a signal to a process group, if there is one. */
function signal(group: number, name: NodeJS.Signals): void {
  try {
    process.kill(-group, name);
  } catch {
    // It has ended.
  }
}
