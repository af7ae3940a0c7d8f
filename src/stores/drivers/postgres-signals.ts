import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
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

/** How long a signal to oneself may take, and for how long no connection can be opened before that is told. */
const ARRIVAL_MS = 1_000;

/** The pause between two statements with signals while those of others do not arrive. */
const PAUSE_MS = 100;

const DIRECT_URL = 'DATABASE_DIRECT_URL (postgres.directUrl of openStore)';
const LATE = 'Until then, followers on other processes are late.';
/** What is wrong with signals, and what the operator does if the URL for signals is that of the store, or else. */
const LOST = [
  'Signals do not arrive.',
  `Is there a pooler in transaction mode? Use its session mode, or let ${DIRECT_URL} name the server itself.`,
  `${DIRECT_URL} must name the database of the store, on the server itself or through a pooler in session mode.`,
];
const UNCONNECTED = [
  'The connection for signals cannot be opened.',
  'It is tried again.',
  `It is tried again. Check ${DIRECT_URL} and its server.`,
];

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
 *
 * A pooler may give the connection of the server to several clients in turn. Then a signal reaches whoever has it at that time.
 * So a new connection listens to a channel of its own first, and another connection sends a notification there. Only if that
 * arrives, it listens to the channel of the signals. If not, no signal has a slice, and a new connection is tried again and again.
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
  /** The connection that is being opened. */
  #next: pg.Client | undefined;
  /** Since when there is no connection. */
  #lostAt: number | undefined;
  override trouble: string | undefined = undefined;

  /**
   * @param connection the configuration of `pg`, whose types a user of this package may not have
   * @param readChannel reads the name of the channel. It is in a table, because whoever can connect to the database can listen
   * to a channel whose name is known
   * @param notify sends an empty notification to a channel, on a connection that executes statements of the store
   * @param isDirect whether `connection` is another one than that of the store
   */
  constructor(
    private readonly connection: object,
    private readonly readChannel: () => Promise<string>,
    private readonly notify: (channel: string) => Promise<unknown>,
    private readonly isDirect = false,
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
    await this.#next?.end().catch(() => undefined);
    await this.#client?.end().catch(() => undefined);
  }

  /** Never rejects: without a connection, it tries again later. */
  async #connect(): Promise<void> {
    const client = new pg.Client({ ...this.connection, query_timeout: CHECK_MS });
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client));
    this.#next = client;
    let isReached = false;
    try {
      this.#channel = await this.readChannel();
      isReached = true;
      await client.connect();
      const arrive = await this.#arrive(client);
      if (arrive) await client.query(`listen ${pg.escapeIdentifier(this.#channel)}`);
      if (this.#isClosed) return void client.end().catch(() => undefined);
      this.#use(client);
      this.#lostAt = undefined;
      this.#backoffMs = BACKOFF.least;
      this.#report(arrive ? [] : LOST);
      this.#receiver!.missed();
      this.#check(client);
    } catch (error) {
      this.#use(client);
      this.#lostAt ??= performance.now();
      // Without the database, its outage is told.
      if (isReached && performance.now() - this.#lostAt >= ARRIVAL_MS)
        this.#report(UNCONNECTED, (error as Error).message);
      this.#lose(client, error as Error);
    }
  }

  /** This connection is used from now on, and the one before is not. */
  #use(client: pg.Client): void {
    const before = this.#client;
    this.#next = undefined;
    this.#client = client;
    before?.end().catch(() => undefined);
  }

  /** Whether a notification of another connection arrives at this one, which nobody else uses meanwhile. */
  async #arrive(client: pg.Client): Promise<boolean> {
    const own = `agent_query_check_${randomUUID()}`;
    const arrival = new AbortController();
    client.once('end', () => arrival.abort());
    client.on('notification', ({ channel, payload }) => {
      if (channel === own) arrival.abort();
      else if (channel === this.#channel) this.#receive(payload);
    });
    await client.query(`listen ${pg.escapeIdentifier(own)}`);
    await this.notify(own);
    const isLate = await delay(ARRIVAL_MS, true, { signal: arrival.signal, ref: false }).catch(() => false);
    await client.query(`unlisten ${pg.escapeIdentifier(own)}`);
    return !isLate;
  }

  #check(client: pg.Client): void {
    this.#timer = setTimeout(() => {
      if (this.trouble !== undefined) return void this.#connect();
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
    if (this.#next) return;
    this.#timer = setTimeout(() => void this.#connect(), jittered(this.#backoffMs)).unref();
    this.#backoffMs = Math.min(2 * this.#backoffMs, BACKOFF.most);
  }

  #report([trouble, advice, adviceIfDirect]: string[], cause = ''): void {
    if (trouble === this.trouble) return;
    this.trouble = trouble;
    if (trouble === undefined) return PostgresSignals.#logger.log('Signals arrive again.');
    const shown = cause && ` The error was: ${textForLog(cause)}`;
    PostgresSignals.#logger.warn(`${trouble} ${this.isDirect ? adviceIfDirect : advice} ${LATE}${shown}`);
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
      // Without slices, and not often: each process says then what it does, because it does not hear who wants to know.
      if (this.trouble !== undefined && !this.#isClosed) await delay(PAUSE_MS, undefined, { ref: false });
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
      const text = textOf(signal, this.trouble === undefined);
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

/** A signal as JSON, behind a comma. A slice is left out if it must be, or is too long for a notification. */
function textOf(signal: Signal, mayHaveSlice: boolean): string {
  const text = `,${JSON.stringify(signal)}`;
  if (!('slice' in signal) || (mayHaveSlice && Buffer.byteLength(text) <= SLICE_BYTES)) return text;
  return `,${JSON.stringify({ ...signal, slice: undefined })}`;
}
