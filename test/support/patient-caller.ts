import type { Envelope } from '../../src/index.js';
import { FULL, follow, type Reply, request } from './client.js';

/** A caller that resumes its run until it has ended, whatever happens to the service. */
export class PatientCaller {
  /** The envelopes by their numbers. */
  readonly events = new Map<number, Envelope>();
  #runId: string | undefined;
  /** Whether a number was left out. */
  hasGap = false;

  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  /** Resolves when `done` has arrived. */
  async ask(body: string): Promise<void> {
    while (!this.end) {
      const reply = await this.#connect(body).catch(() => undefined);
      if (reply?.status === 200) await this.#read(reply);
      else await new Promise((next) => setTimeout(next, 50));
    }
  }

  /** The data of `done`. */
  get end(): unknown {
    return [...this.events.values()].find(({ type }) => type === 'done')?.data;
  }

  /** The joined contents of the messages that are not void. */
  get text(): string {
    const valid = new Map<number, string>();
    for (const [seq, { type, data }] of this.events) {
      if (type === 'message') valid.set(seq, (data as { content: string }).content);
      if (type !== 'restarted') continue;
      for (const number of valid.keys()) if (number > (data as { from: number }).from) valid.delete(number);
    }
    return [...valid.values()].join('');
  }

  #connect(body: string): Promise<Reply> {
    const cursor = { 'last-event-id': `${this.#runId}.${this.events.size}` };
    if (this.#runId !== undefined) return follow(this.url, this.#runId, cursor);
    return request(this.url, { headers: { ...FULL, 'idempotency-key': this.key } }, body);
  }

  async #read(reply: Reply): Promise<void> {
    this.#runId = reply.runId;
    let read = 0;
    const take = () => {
      for (const { id, data } of reply.events.slice(read)) {
        read += 1;
        const seq = Number(id!.split('.').at(-1));
        this.hasGap ||= seq !== this.events.size + 1;
        this.events.set(seq, JSON.parse(data) as Envelope);
      }
      return this.end !== undefined;
    };
    await reply.until(take).catch(() => undefined);
    take();
    reply.cut();
  }
}
