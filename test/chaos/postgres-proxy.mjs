import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fatalError, Messages, query, sqlOf } from './postgres-messages.mjs';

/**
 * What can happen to a statement. `link` is its connection, `messages` is the statement, `fault` what was armed. Opening a
 * connection counts as a statement too.
 */
const FAULTS = {
  /** It arrives later. */
  delay: async (link, messages, { delayMs }) => {
    await delay(delayMs);
    link.pass(messages);
  },
  /** The connection breaks before it. */
  cut: (link) => link.reset(),
  /** The server closes its side of the connection, and answers no more. */
  halfClose: (link) => {
    link.isSilent = true;
    link.client.end();
  },
  /** The network swallows it, and all that follows on this connection. */
  swallow: (link) => void (link.isSilent = true),
  /** The server refuses it with an error. */
  error: (link, messages, { sqlState }) => link.pass(link.isOpen ? [failing(sqlState)] : messages),
  /** The server refuses it with an error, and closes the connection. */
  fatal: (link, messages, { sqlState }) => link.fail(sqlState),
  /** It is executed, but the connection breaks before its answer. */
  lost: async (link, messages) => {
    await link.passSilently(messages);
    link.reset();
  },
  /** It is executed, but the network swallows its answer. */
  lostInSilence: (link, messages) => link.passSilently(messages),
  /** It is executed, and then the server closes the connection with an error instead of the answer. */
  lateFatal: async (link, messages, { sqlState }) => {
    await link.passSilently(messages);
    link.fail(sqlState);
  },
};

/** A statement that fails with an error, so that the server's transaction fails as it would. */
function failing(sqlState) {
  return query(`do $$ begin raise exception 'an injected error' using errcode = '${sqlState}'; end $$`);
}

/** A proxy in front of a Postgres server. It counts statements, and disturbs the chosen one, or all for some time. */
export class PostgresProxy {
  /** How many statements have arrived since `arm`. */
  statements = 0;
  /** How many of them were disturbed. */
  injected = 0;
  /** The SQL of the first statement that was disturbed. */
  struck;
  #fault;
  #endsAt = 0;
  #links = new Set();
  #isHeld = false;

  constructor(server, target) {
    this.server = server;
    this.target = target;
  }

  /** @param url of the Postgres server */
  static async start(url) {
    const target = new URL(url);
    const server = createServer({ allowHalfOpen: true });
    const proxy = new PostgresProxy(server, target);
    server.on('connection', (client) => {
      const link = new Link(client, connect(Number(target.port), target.hostname), proxy);
      proxy.#links.add(link);
      if (proxy.#isHeld) link.hold();
      client.once('close', () => proxy.#links.delete(link));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  /** The URL of the server by way of the proxy. */
  get url() {
    const url = new URL(this.target);
    url.port = this.server.address().port;
    return url.href;
  }

  /**
   * Counts statements from 1 on, and disturbs statement `at`.
   *
   * @param fault `kind` is a key of `FAULTS`; with `periodMs`, all statements in that time after the first are disturbed;
   * undefined disturbs nothing
   */
  arm(fault) {
    Object.assign(this, { statements: 0, injected: 0, struck: undefined });
    this.#fault = fault;
    this.#endsAt = 0;
  }

  /** The fault that a statement meets. */
  faultFor(sql) {
    this.statements++;
    const fault = this.#fault;
    if (!fault) return undefined;
    if (this.statements === fault.at) this.#endsAt = performance.now() + (fault.periodMs ?? 0);
    else if (performance.now() >= this.#endsAt) return undefined;
    // A server that refuses statements takes this one.
    if (fault.kind === 'error' && sql === 'rollback') return undefined;
    this.injected++;
    this.struck ??= sql;
    return { ...fault, execute: FAULTS[fault.kind] };
  }

  /** Holds back everything that is sent on any connection, until `release`: the network is cut. */
  hold() {
    this.#isHeld = true;
    for (const link of this.#links) link.hold();
  }

  release() {
    this.#isHeld = false;
    for (const link of this.#links) link.release();
  }

  /** From now on, the network swallows what is sent on the connections that listen. Returns how many there are. */
  silenceListeners() {
    return this.#silence(({ hasListened }) => hasListened);
  }

  /** From now on, the network swallows what is sent on the other connections that are open now. Returns how many there are. */
  silencePools() {
    return this.#silence(({ hasListened }) => !hasListened);
  }

  #silence(isMeant) {
    const links = [...this.#links].filter((link) => !link.isSilent && isMeant(link));
    for (const link of links) link.isSilent = true;
    return links.length;
  }

  async close() {
    this.server.close();
    for (const link of this.#links) link.reset();
    await once(this.server, 'close');
  }
}

/** One connection of a client, and the one to the server. */
class Link {
  /** Nothing passes any more, in both directions; the sockets stay open. */
  isSilent = false;
  /** The server has accepted the connection. */
  isOpen = false;
  /** The client has sent LISTEN. */
  hasListened = false;
  #fromServer = new Messages(false);
  #fromClient = new Messages(true);
  #statement = [];
  #lastStatement = Promise.resolve();
  #onReady = () => undefined;

  constructor(client, server, proxy) {
    Object.assign(this, { client, server, proxy });
    client.on('data', (chunk) => this.#receive(chunk));
    server.on('data', (chunk) => this.#answer(chunk));
    for (const socket of [client, server]) socket.on('error', () => undefined);
    client.once('end', () => client.end());
    client.once('close', () => server.destroy());
    server.once('close', () => this.#serverClosed());
  }

  /** Sends messages to the server. */
  pass(messages) {
    if (this.isSilent) return;
    for (const message of messages) this.server.write(Buffer.isBuffer(message) ? message : message.bytes);
  }

  /** Sends messages to the server, and drops its answer. Resolves when the server has answered. */
  async passSilently(messages) {
    if (this.isSilent) return;
    this.pass(messages);
    this.isSilent = true;
    await new Promise((resolve) => (this.#onReady = resolve));
  }

  fail(sqlState) {
    this.isSilent = true;
    this.client.end(fatalError(sqlState));
    this.server.destroy();
  }

  /** Reads nothing: what is sent stays in the buffers of the network. */
  hold() {
    this.client.pause();
    this.server.pause();
  }

  release() {
    this.client.resume();
    this.server.resume();
  }

  reset() {
    this.isSilent = true;
    // Node leaves a socket open when it resets one that is being shut down (`reset EINVAL`).
    if (this.client.writableEnded) this.client.destroy();
    else this.client.resetAndDestroy();
    this.server.destroy();
  }

  #receive(chunk) {
    for (const message of this.#fromClient.read(chunk)) {
      this.#statement.push(message);
      // A statement ends with Query or Sync. Terminate is none.
      if (!['startup', 'Q', 'S', 'X'].includes(message.type)) continue;
      const messages = this.#statement;
      this.#statement = [];
      this.#lastStatement = this.#lastStatement.then(() => this.#handle(messages));
    }
  }

  #handle(messages) {
    const [first] = messages;
    this.hasListened ||= /^listen /.test(sqlOf(first) ?? '');
    if (first.type === 'X' || this.isSilent) return this.pass(messages);
    const fault = this.proxy.faultFor(sqlOf(first) ?? 'connect');
    if (!fault) return this.pass(messages);
    return fault.execute(this, messages, fault);
  }

  #answer(chunk) {
    if (!this.isSilent) this.client.write(chunk);
    for (const { type } of this.#fromServer.read(chunk)) {
      if (type !== 'Z') continue;
      this.isOpen = true;
      this.#onReady();
    }
  }

  #serverClosed() {
    this.#onReady();
    if (!this.isSilent) this.client.destroy();
  }
}
