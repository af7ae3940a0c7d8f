import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { Socket } from 'node:net';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { newProcessDirectory } from 'nest-agent-query/agents';
import { parserEntry } from './parser-entry.js';
import { OUT_OF_MEMORY } from './parser-protocol.js';
import type { FromParser, ParserEnd, ParserRequest, ToParser } from './parser-protocol.js';

/** Bytes of a file that are sent along with a request, at most. */
const SENT_AT_ONCE = 256 * 1024;
/** Milliseconds that a process may take to start. */
const START_MS = 30_000;
/** Characters at the end of what a process writes to its standard error that are kept. They say why it died. */
const KEPT_OUTPUT = 16_384;
/** Signals that ask processes to stop. They end a process only before its first instruction. */
const STOPPING: ReadonlySet<unknown> = new Set(['SIGINT', 'SIGTERM', 'SIGHUP']);
/** What V8 writes when it ends a process above its limit. */
const V8_OUT_OF_MEMORY = /^FATAL ERROR: .*(?:memory|Allocation failed)/m;

/** The death of a process: of a limit of its memory, of a signal that asks processes to stop, or of another cause. */
interface Death {
  type: 'died';
  isOutOfMemory: boolean;
  isStopped: boolean;
  cause: string;
}

/** How a request ended: as its process says, or by the death of the process. `file` is that of a complete answer. */
export type ParserOutcome = (ParserEnd & { file?: OpenedFile }) | { type: 'unavailable' } | Death;

/** A file of an answer. Whoever takes it reads it to its end or closes it. */
export interface OpenedFile {
  name: string;
  mimeType: string;
  content: FileHandle;
}

/** Hears of the execution of a request. */
export interface ExecutionListener {
  /** The process has started, and its time begins. */
  onBegin: () => void;
  /** The next piece of the answer. */
  onPiece: (piece: string) => void;
  /** The process has got so many bytes of the files. */
  onFetched: (bytes: number) => void;
}

/**
 * A process of the pool, as the service sees it. Whatever happens to it, no method throws or rejects. It keeps the service
 * running only while it works on a request.
 */
export class ParserChild {
  readonly #process: ChildProcess;
  /** Where the process may keep files, which are removed when it ends. It makes the directory when it needs it. */
  readonly #directory = newProcessDirectory();
  /** Resolves with the resident memory of the idle process in bytes; undefined if the process died before. */
  readonly #started: Promise<number | undefined>;
  readonly #died: Promise<Death>;
  /** Whether it has had a request. */
  hasWorked = false;
  #output = '';
  #isDead = false;
  #onMessage: (message: FromParser) => void = () => undefined;

  /** @param memoryMiB the resident memory that a request may take */
  constructor(memoryMiB: number) {
    this.#process = fork(
      fileURLToPath(parserEntry),
      [String(memoryMiB), String(process.pid), this.#directory],
      {
        // V8 ends the process above this limit, which costs less than memory that is written to.
        execArgv: [`--max-old-space-size=${memoryMiB}`, '--no-warnings'],
        // A parser must not see the environment of the service. The C library of Linux keeps freed memory for each thread,
        // which counts, unless it is told otherwise. Other systems ignore this variable.
        env: { MALLOC_ARENA_MAX: '1' },
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        serialization: 'advanced',
      },
    );
    this.#process.on('message', (message) => this.#onMessage(message as FromParser));
    // A process that could not be started has no output.
    this.#process.stderr?.on('data', (chunk: Buffer) => {
      this.#output = (this.#output + chunk.toString()).slice(-KEPT_OUTPUT);
    });
    this.#died = this.#death();
    // `#died` has heard of the first error. A later one has no other listener.
    this.#process.on('error', () => undefined);
    this.#started = this.#start();
    this.#ref(false);
  }

  /** Whether it can take another request. */
  get isAlive(): boolean {
    return !this.#isDead && this.#process.connected;
  }

  /**
   * Sends a request, once the process has started.
   *
   * @param listener hears what happens until the outcome
   */
  async execute(request: ParserRequest, files: Blob[], listener: ExecutionListener): Promise<ParserOutcome> {
    this.#ref(true);
    this.hasWorked = true;
    try {
      if ((await this.#started) === undefined) return await this.#died;
      listener.onBegin();
      const outcome = await Promise.race([this.#request(request, files, listener), this.#died]);
      return 'attachments' in outcome ? await withFile(outcome) : outcome;
    } finally {
      this.#onMessage = () => undefined;
      this.#ref(false);
    }
  }

  /** Resolves with the resident memory of the process before its first request, in bytes; 0 if it died before. */
  async residentAtStart(): Promise<number> {
    return (await this.#started) ?? 0;
  }

  /** Ends the process at once, whatever it does. */
  kill(): void {
    this.#isDead = true;
    this.#process.kill('SIGKILL');
  }

  /** Resolves when the process has ended. */
  async ended(): Promise<void> {
    await this.#died;
  }

  async #request(
    request: ParserRequest,
    files: Blob[],
    { onPiece, onFetched }: ExecutionListener,
  ): Promise<ParserEnd | { type: 'unavailable' }> {
    const [small] = files.length === 1 && files[0]!.size <= SENT_AT_ONCE ? files : [];
    const content = small && (await bytesOf(small));
    if (small && content === undefined) return { type: 'unavailable' };
    return new Promise((resolve) => {
      this.#onMessage = (message) => {
        if (message.type === 'piece') onPiece(message.piece);
        else if (message.type === 'read') void this.#answer(files, message, onFetched);
        else if (message.type !== 'ready') resolve(message);
      };
      this.#send({ type: 'request', request, content });
    });
  }

  async #start(): Promise<number | undefined> {
    const timer = setTimeout(() => this.kill(), START_MS);
    timer.unref();
    const ready = new Promise<number>((resolve) => {
      this.#onMessage = (message) => message.type === 'ready' && resolve(message.resident);
    });
    const resident = await Promise.race([ready, this.#died.then(() => undefined)]);
    clearTimeout(timer);
    return resident;
  }

  async #death(): Promise<Death> {
    const closed = once(this.#process, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    let end: string;
    let isStopped = false;
    try {
      const [code, signal] = await closed;
      isStopped = STOPPING.has(signal);
      end = `ended with ${signal ?? code}`;
    } catch (error) {
      // The system could not start the process. A message that could not be sent has a callback.
      end = `could not be started: ${(error as Error).message}`;
    }
    this.#isDead = true;
    await rm(this.#directory, { recursive: true, force: true }).catch(() => undefined);
    const isOutOfMemory = this.#output.includes(OUT_OF_MEMORY) || V8_OUT_OF_MEMORY.test(this.#output);
    return {
      type: 'died',
      isOutOfMemory,
      isStopped,
      cause: `A process that parses files ${end}. ${this.#output}`.trim(),
    };
  }

  async #answer(
    files: Blob[],
    { file, id, start, end }: FromParser & { type: 'read' },
    onFetched: ExecutionListener['onFetched'],
  ): Promise<void> {
    const blob = files[file];
    const bytes = blob && (await bytesOf(blob.slice(start, end)));
    onFetched(bytes?.length ?? 0);
    this.#send({ type: 'bytes', file, id, bytes });
  }

  #send(message: ToParser): void {
    // If the process has died in the meantime, `#died` says so.
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }

  #ref(isNeeded: boolean): void {
    const method = isNeeded ? 'ref' : 'unref';
    this.#process[method]();
    this.#process.channel?.[method]();
    (this.#process.stderr as Socket | null)?.[method]();
  }
}

/** Opens the file of an answer, and removes its path: what was opened can be read until it is closed. */
async function withFile(end: ParserEnd & { type: 'done' }): Promise<ParserOutcome> {
  const { file } = end.attachments;
  if (!file) return end;
  try {
    const content = await open(file.path);
    await rm(file.path);
    return { ...end, file: { name: file.name, mimeType: file.mimeType, content } };
  } catch {
    // The process has died in the meantime, and its directory was removed.
    return { type: 'unavailable' };
  }
}

/** Undefined if the content is no longer available. */
async function bytesOf(blob: Blob): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await blob.arrayBuffer());
  } catch {
    return undefined;
  }
}
