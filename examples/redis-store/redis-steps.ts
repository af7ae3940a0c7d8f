import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { QueryError } from 'nest-agent-query';

/** What a step changes: with a command of Redis, and then in the copy of this process. */
export interface Change {
  command?: string[];
  apply?: () => unknown;
}

const LOCK = 'lock';
const LOST = 'LOCK_LOST';

/**
 * Executes writes in one atomic step, if the lock is still that of this process. A step that was executed before is left out: the
 * connection was lost before its answer came, and the client sends it again.
 */
const SCRIPT = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('${LOST}') end
if redis.call('GET', KEYS[2]) == ARGV[2] then return 1 end
for _, write in ipairs(cjson.decode(ARGV[3])) do redis.call(unpack(write)) end
redis.call('SET', KEYS[2], ARGV[2])
return 1`;

/**
 * The steps of a store, one after another, each of which Redis executes as a whole.
 *
 * One process has the data: it holds a lock, which it renews. Every step looks at the lock. So a process that was frozen until its
 * lock had expired cannot write any more, and must be started again.
 */
export class RedisSteps {
  readonly #process = randomUUID();
  #last: Promise<unknown> = Promise.resolve();
  #renewal: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param redis with `maxRetriesPerRequest: null`: it waits for a server that is away, and then sends its commands again */
  constructor(
    private readonly redis: Redis,
    private readonly lockMs: number,
    private readonly on: { renewed: () => Promise<void>; lost: () => void },
  ) {
    // Each command reports its failure to its caller.
    redis.on('error', () => undefined);
  }

  /**
   * Waits for the lock of a process that has crashed, and takes it.
   *
   * @throws {Error} another process holds the lock, and renews it
   */
  async open(): Promise<void> {
    const until = Date.now() + 2 * this.lockMs;
    while (!(await this.redis.set(LOCK, this.#process, 'PX', this.lockMs, 'NX'))) {
      if (Date.now() > until)
        throw new Error('Another process uses this Redis database. Stop it, or use another database.');
      await wait(this.lockMs / 20);
    }
    const renewal = { command: ['PEXPIRE', LOCK, String(this.lockMs)] };
    const renew = () => this.write([renewal], 'renewal').then(this.on.renewed);
    this.#renewal = setInterval(() => void renew().catch(() => undefined), this.lockMs / 3).unref();
  }

  /** Does a step when those before it are done. */
  next<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#last.then(step);
    this.#last = done.catch(() => undefined);
    return done;
  }

  /**
   * The same for a caller who can try again.
   *
   * @throws {QueryError} `unavailable`: Redis is away
   */
  async nextNow<T>(step: () => Promise<T>): Promise<T> {
    this.check();
    return this.next(step);
  }

  /** @throws {QueryError} `unavailable`: Redis is away */
  check(): void {
    if (this.redis.status !== 'ready') throw unavailable();
  }

  /**
   * Makes changes as one step, once, and waits for the end of an outage.
   *
   * @param kind two steps of one kind are not executed at the same time
   */
  async write(changes: Change[], kind = 'step'): Promise<void> {
    const commands = changes.flatMap(({ command }) => (command ? [command] : []));
    try {
      await this.redis.eval(SCRIPT, 2, LOCK, kind, this.#process, randomUUID(), JSON.stringify(commands));
    } catch (error) {
      if (!this.#isClosed && (error as Error).message.includes(LOST)) {
        this.crash();
        this.on.lost();
      }
      throw unavailable(error);
    }
    for (const { apply } of changes) apply?.();
  }

  /** Ends as a crash would: the lock stays until it expires. */
  crash(): void {
    this.#isClosed = true;
    clearInterval(this.#renewal);
    this.redis.disconnect();
  }

  async close(): Promise<void> {
    if (this.redis.status === 'ready') {
      await this.#last;
      await this.write([{ command: ['DEL', LOCK] }]).catch(() => undefined);
    }
    this.crash();
  }
}

function unavailable(cause?: unknown): QueryError {
  return new QueryError('unavailable', 'The store is away. Try again.', { retryAfter: 1 }, { cause });
}
