import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import {
  jittered,
  joinedSlice,
  type Signal,
  type SignalReceiver,
  Signals,
  textForLog,
} from '../../query/index.js';

/** The most bytes of one notification. Postgres takes 7,999. */
const PAYLOAD_BYTES = 7_500;

/** The most bytes of a signal with a slice. */
const SLICE_BYTES = PAYLOAD_BYTES - 100;

/** How often the listening connection is checked, and how long an answer may take. */
const CHECK_MS = 5_000;

/** The longest pause before the connection is opened again: doubled each time, from `least` to `most`. */
const BACKOFF = { least: 50, most: 5_000 };

/**
 * Signals through LISTEN and NOTIFY (Postgres, "Asynchronous Notification"). A process has one connection for both.
 *
 * Signals of one tick, and those that arrive while a statement is under way, are sent with one statement: a commit with
 * notifications takes a lock that all processes share. Each signal is sent once per statement.
 *
 * A connection may be lost without a sign. Therefore it is checked, and opened again; then the receiver is told that signals
 * may have been missed. What is sent without a connection is lost.
 */
export class PostgresSignals extends Signals {
  static readonly #logger = new Logger('Signals');
  readonly isShared = true;
  readonly #processId = randomUUID();
  readonly #unsent = new Map<string, Signal>();
  #channel = '';
  #client: pg.Client | undefined;
  #receiver: SignalReceiver | undefined;
  #sending: Promise<void> | undefined;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #backoffMs = BACKOFF.least;

  /**
   * @param connection the configuration of `pg`, whose types a user of this package may not have. A pooler that gives a
   * connection to several clients in turn does not pass notifications on
   * @param readChannel reads the name of the channel. It is in a table, because whoever can connect to the database can listen
   * to a channel whose name is known
   */
  constructor(
    private readonly connection: object,
    private readonly readChannel: () => Promise<string>,
  ) {
    super();
  }

  send(signal: Signal): void {
    if (!this.#receiver || this.#isClosed) return;
    if (this.#unsent.size === 0) setImmediate(() => void this.#flush());
    const key = 'runId' in signal ? `${signal.type} ${signal.runId}` : signal.type;
    const unsent = this.#unsent.get(key);
    // What is said last is sent last: a process that follows again after it has left is a follower.
    this.#unsent.delete(key);
    this.#unsent.set(key, unsent ? joined(unsent, signal) : signal);
  }

  async listen(receiver: SignalReceiver): Promise<void> {
    this.#receiver = receiver;
    await this.#connect();
  }

  async close(): Promise<void> {
    await this.#flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#client?.end().catch(() => undefined);
  }

  /** Never rejects: without a connection, it tries again later. */
  async #connect(): Promise<void> {
    const client = new pg.Client({ ...this.connection, query_timeout: CHECK_MS });
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client));
    client.on('notification', ({ payload }) => this.#receive(payload));
    try {
      await client.connect();
      this.#channel = await this.readChannel();
      await client.query(`listen ${pg.escapeIdentifier(this.#channel)}`);
    } catch (error) {
      this.#client = client;
      return this.#lose(client, error as Error);
    }
    if (this.#isClosed) return void client.end().catch(() => undefined);
    this.#client = client;
    this.#backoffMs = BACKOFF.least;
    this.#receiver!.missed();
    this.#check(client);
  }

  #check(client: pg.Client): void {
    this.#timer = setTimeout(() => {
      client.query('select 1').then(
        () => this.#client === client && this.#check(client),
        (error: Error) => this.#lose(client, error),
      );
    }, CHECK_MS).unref();
  }

  #lose(client: pg.Client, error?: Error): void {
    if (this.#isClosed || this.#client !== client) return;
    this.#client = undefined;
    clearTimeout(this.#timer);
    PostgresSignals.#logger.debug(
      `The connection for signals was lost: ${textForLog(error?.message ?? 'it was closed')}`,
    );
    // `end` waits for the server, which may be gone.
    client.end().catch(() => undefined);
    this.#timer = setTimeout(() => void this.#connect(), jittered(this.#backoffMs)).unref();
    this.#backoffMs = Math.min(2 * this.#backoffMs, BACKOFF.most);
  }

  /** Sends everything that waits. Never rejects. */
  async #flush(): Promise<void> {
    if (this.#unsent.size > 0) this.#sending ??= this.#sendAll();
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#unsent.size > 0) {
      const payloads = this.#payloads([...this.#unsent.values()]);
      this.#unsent.clear();
      const values = payloads.map((_, index) => `pg_notify($1, $${index + 2})`);
      const client = this.#client;
      try {
        await client?.query(`select ${values.join(', ')}`, [this.#channel, ...payloads]);
      } catch (error) {
        this.#lose(client!, error as Error);
      }
    }
    // In the tick in which nothing was left: a signal that comes later begins anew.
    this.#sending = undefined;
  }

  /** The signals as JSON, with the sender first, in texts that are short enough for a notification. */
  #payloads(signals: Signal[]): string[] {
    const payloads: string[] = [];
    let payload = '';
    let bytes = 0;
    for (const signal of signals) {
      const text = textOf(signal);
      const added = Buffer.byteLength(text);
      if (payload && bytes + added > PAYLOAD_BYTES) {
        payloads.push(payload);
        payload = '';
      }
      if (!payload) bytes = (payload = this.#head).length;
      payload += text;
      bytes += added;
    }
    return [...payloads, payload].map((one) => `${one}]`);
  }

  /** How the notifications of this process begin. */
  get #head(): string {
    return `[${JSON.stringify(this.#processId)}`;
  }

  #receive(payload: string | undefined): void {
    if (payload?.startsWith(this.#head)) return;
    let from: string;
    let signals: Signal[];
    try {
      [from, ...signals] = JSON.parse(payload ?? '') as [string, ...Signal[]];
      if (!signals.every(({ type }) => typeof type === 'string')) throw new TypeError();
    } catch {
      return PostgresSignals.#logger.warn('A notification that is not one of this service was ignored.');
    }
    for (const signal of signals) this.#receiver?.receive(signal, from);
  }
}

/** Two signals of the same kind as one. Without the slice of the first, a follower reads the log. */
function joined(signal: Signal, next: Signal): Signal {
  if (!('slice' in signal && signal.slice && 'slice' in next && next.slice)) return next;
  return { ...next, slice: joinedSlice(signal.slice, next.slice) ?? next.slice };
}

/** A signal as JSON, behind a comma. A slice that is too long for a notification is left out. */
function textOf(signal: Signal): string {
  const text = `,${JSON.stringify(signal)}`;
  if (!('slice' in signal) || Buffer.byteLength(text) <= SLICE_BYTES) return text;
  return `,${JSON.stringify({ ...signal, slice: undefined })}`;
}
