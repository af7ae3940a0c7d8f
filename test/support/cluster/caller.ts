import { createParser } from 'eventsource-parser';
import { type Deferred, deferred } from '../conditions.js';
import { FULL, type Reply, request } from '../client.js';
import type { Member } from './member.js';

/** An event as a caller has received it. */
export interface Received {
  seq: number;
  data: string;
  /** When it arrived, on the clock of `performance.now`. */
  at: number;
}

/** A query as a caller sends it. */
export interface SentQuery {
  text?: string;
  /** See `steered-agent.mjs`. */
  steps?: object[];
  session?: string;
  /** The idempotency key. Default: a new one. */
  key?: string;
  /** The contents of the files. */
  files?: Buffer[];
  /** The header `traceparent`. Default: none. */
  traceparent?: string;
}

/** The pause before a caller connects again, in milliseconds. */
const PAUSE_MS = 20;

let keys = 0;

/**
 * A caller of the cluster, who follows the rules of docs/http.md ("For authors of clients"). When its stream is cut or
 * refused, it continues at the next of its processes.
 */
export class Caller {
  runId: string | undefined;
  readonly received: Received[] = [];
  /** When the stream was cut, each time. */
  readonly cuts: number[] = [];
  /** What it should never have received. */
  readonly faults: string[] = [];
  /** Resolves when it has received `done`, was refused, or has left. */
  readonly ended: Promise<void>;
  #hasLeft = false;
  /** A process has answered with something that trying again does not change. */
  #isRefused = false;
  #reply: Reply | undefined;
  #news: Deferred = deferred();
  #next = 0;

  /**
   * @param members where it connects: at the first, and after a cut at the next
   * @param query what it sends; undefined to follow a run
   */
  constructor(
    private readonly members: Member[],
    readonly query: SentQuery | undefined,
    runId?: string,
  ) {
    this.runId = runId;
    this.ended = this.#read();
  }

  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  get isDone(): boolean {
    return isDone(this.received.at(-1)?.data);
  }

  /** The data of the last event. */
  get end(): unknown {
    return (JSON.parse(this.received.at(-1)!.data) as { data: unknown }).data;
  }

  /** The contents of the messages that it has received. */
  get contents(): string[] {
    return contentsOf(this.received.map(({ data }) => data));
  }

  /** Waits until it has received an event that fulfils a condition. */
  async until(condition: string | ((received: Received) => boolean)): Promise<Received> {
    const holds =
      typeof condition === 'string' ? ({ data }: Received) => data.includes(condition) : condition;
    for (;;) {
      const { promise } = this.#news;
      const found = this.received.find(holds);
      if (found) return found;
      if (this.isDone || this.#isRefused)
        throw new Error(`The stream ended with ${this.received.at(-1)?.data}. ${this.faults.join(' ')}`);
      await promise;
    }
  }

  /** Waits until the query was admitted, and returns the id of its run. */
  async admitted(): Promise<string> {
    while (this.runId === undefined && !this.#isRefused) await this.#news.promise;
    if (this.runId === undefined) throw new Error(`The query was refused. ${this.faults.join(' ')}`);
    return this.runId;
  }

  /** Cuts the connection. The caller does not come back. */
  leave(): void {
    this.#hasLeft = true;
    this.#reply?.cut();
  }

  async #read(): Promise<void> {
    while (!this.#hasLeft && !this.isDone && !this.#isRefused) {
      const member = this.members[this.#next++ % this.members.length]!;
      try {
        // Another process of the machine may have the port of one that has ended.
        if (member.isRunning) await this.#connect(member);
      } catch {
        // The process is gone, or has cut the stream.
      }
      if (this.#hasLeft || this.isDone || this.#isRefused) break;
      this.cuts.push(performance.now());
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    this.#tell();
  }

  async #connect(member: Member): Promise<void> {
    const reply = this.runId === undefined ? await this.#send(member) : await this.#resume(member);
    this.#reply = reply;
    if (this.#hasLeft) return reply.cut();
    if (reply.status !== 200) {
      const text = await reply.whole();
      this.#isRefused = reply.status !== 503;
      if (this.#isRefused) this.faults.push(`${member.name} answers ${reply.status}: ${text}`);
      return;
    }
    this.runId = reply.runId;
    this.#tell();
    const parser = createParser({ onEvent: ({ id, data }) => this.#receive(id, data) });
    const decoder = new TextDecoder();
    for await (const chunk of reply.chunks()) parser.feed(decoder.decode(chunk, { stream: true }));
  }

  #send(member: Member): Promise<Reply> {
    const { text = 'Hello', steps, session, files = [], traceparent } = this.query!;
    this.query!.key ??= `key ${process.pid} ${++keys}`;
    const parts = [
      { type: 'text', text },
      ...files.map((bytes) => ({
        type: 'file',
        name: 'a.bin',
        mimeType: 'application/octet-stream',
        base64: bytes.toString('base64'),
      })),
    ];
    const kwargs = { steps, ...(session !== undefined && { session_id: session }) };
    const headers = {
      ...FULL,
      'idempotency-key': this.query!.key,
      ...(traceparent !== undefined && { traceparent }),
    };
    return request(member.url, { headers, isStalled: true }, JSON.stringify({ parts, kwargs }));
  }

  #resume(member: Member): Promise<Reply> {
    const last = this.received.at(-1);
    const headers = { ...FULL, ...(last && { 'last-event-id': `${this.runId}.${last.seq}` }) };
    return request(member.url, { method: 'GET', path: `/query/${this.runId}`, headers, isStalled: true });
  }

  #receive(id: string | undefined, data: string): void {
    const [runId, seq] = (id ?? '').split('.');
    const last = this.received.at(-1)?.seq ?? 0;
    if (runId !== this.runId || Number(seq) !== last + 1)
      this.faults.push(`The event ${id} follows ${this.runId}.${last}.`);
    this.received.push({ seq: Number(seq), data, at: performance.now() });
    this.#tell();
  }

  #tell(): void {
    const news = this.#news;
    this.#news = deferred();
    news.resolve();
  }
}

export function isDone(data: string | undefined): boolean {
  return data !== undefined && (JSON.parse(data) as { type: string }).type === 'done';
}

/** The contents of the messages among envelopes, without those that `restarted` makes void. */
export function contentsOf(envelopes: string[]): string[] {
  const contents: [seq: number, content: string][] = [];
  for (const [index, envelope] of envelopes.entries()) {
    const { type, data } = JSON.parse(envelope) as { type: string; data: { content: string; from: number } };
    if (type === 'message') contents.push([index + 1, data.content]);
    if (type === 'restarted') while (contents.length > 0 && contents.at(-1)![0] > data.from) contents.pop();
  }
  return contents.map(([, content]) => content);
}
