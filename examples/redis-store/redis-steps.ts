import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { QueryError } from 'nest-agent-query';

/** A command of Redis that changes data. Each has the same effect when it is executed twice. */
export type Write = [name: string, ...parameters: (string | number)[]];

const LOCK = 'lock';
const LOST = 'LOCK_LOST';

/** Executes writes in one atomic step, if the lock is still that of this process. */
const SCRIPT = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('${LOST}') end
for _, write in ipairs(cjson.decode(ARGV[2])) do redis.call(unpack(write)) end
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
  #isDown = false;
  #isClosed = false;

  constructor(
    private readonly redis: Redis,
    private readonly lockMs: number,
    private readonly onLost: () => void,
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
    this.#renewal = setInterval(() => void this.#renew().catch(() => undefined), this.lockMs / 3);
    this.#renewal.unref();
  }

  /** @throws {QueryError} `unavailable` */
  async check(): Promise<void> {
    await this.write([['SET', 'checked', Date.now()]]);
  }

  /** Executes a step when those before it are done. */
  next<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#last.then(step);
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** The same for a caller who can try again: while Redis is away, it does not wait. */
  async nextNow<T>(step: () => Promise<T>): Promise<T> {
    if (this.#isDown) throw unavailable();
    return this.next(step);
  }

  /** @throws {QueryError} `unavailable`: it is not known whether Redis has executed the writes */
  async write(writes: Write[]): Promise<void> {
    await this.read(() => this.redis.eval(SCRIPT, 1, LOCK, this.#process, JSON.stringify(writes)));
  }

  /** Executes writes, and waits for the end of an outage. */
  persist(writes: Write[]): Promise<void> {
    return this.patiently(() => this.write(writes));
  }

  /** Tries again until Redis is back, as runs and their followers do. Other callers can try again themselves. */
  async patiently<T>(work: () => Promise<T>): Promise<T> {
    for (let pause = 10; ; pause = Math.min(2 * pause, 1_000)) {
      try {
        const result = await work();
        this.#isDown = false;
        return result;
      } catch (error) {
        if (this.#isClosed) throw error;
        this.#isDown = true;
        await wait(pause);
      }
    }
  }

  /** @throws {QueryError} `unavailable` */
  async read<T>(command: () => Promise<T>): Promise<T> {
    try {
      return await command();
    } catch (error) {
      if (error instanceof Error && error.message.includes(LOST)) this.#lose();
      throw unavailable(error);
    }
  }

  /** Ends as a crash would: the lock stays until it expires. */
  crash(): void {
    this.#isClosed = true;
    clearInterval(this.#renewal);
    this.redis.disconnect();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#renewal);
    await this.#last;
    await this.write([['DEL', LOCK]]).catch(() => undefined);
    this.redis.disconnect();
  }

  async #renew(): Promise<void> {
    await this.write([['PEXPIRE', LOCK, this.lockMs]]);
  }

  #lose(): void {
    if (this.#isClosed) return;
    this.crash();
    this.onLost();
  }
}

function unavailable(cause?: unknown): QueryError {
  return new QueryError('unavailable', 'The store is away. Try again.', { retryAfter: 1 }, { cause });
}
