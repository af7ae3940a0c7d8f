import { Way } from './way.mjs';

/** How often it is looked whether something has happened. */
const LOOK_MS = 20;

/** How long a client may take to show what was sent, to do anything, and to answer at all. */
const SHOWN_MS = 5_000;
const SILENT_MS = 12_000;
const END_MS = 30_000;

/** One query of a client, through a proxy of its own. */
export class OneCase {
  id;
  way;
  answer;
  #service;

  /**
   * Sends a query.
   *
   * @param tried `{ service, asker, label, isSet, key }`; the key is a good one
   * @param name of the case; it is unique for the client
   * @param scenario what the agent does
   * @param losesHead whether the first answer is lost before its head
   * @param order what the module of the client gets besides
   */
  static async begin(tried, name, { scenario = 'count', losesHead = false, ...order } = {}) {
    const { service, asker, label, isSet, key } = tried;
    const shared = { key, goodKey: key, service: service.url, isSet };
    const id = `${label}-${name}`.replace(/\W+/g, '-');
    const way = await Way.to(service.url, losesHead ? id : undefined);
    const one = new OneCase();
    Object.assign(one, { id, way });
    one.#service = service;
    const { url } = way;
    one.answer = asker.ask({ ...shared, url, id, text: `${scenario} ${id}`, files: [], ...order });
    return one;
  }

  get runs() {
    return this.#service.told('begun', this.id).length;
  }

  get wasAborted() {
    return this.#service.told('aborted', this.id).length > 0;
  }

  get digestsRead() {
    return this.#service.told('read', this.id).flatMap(({ digests }) => digests);
  }

  /** How many earlier turns the agent got with the query of another case, which may be this one. */
  turnsOf(id) {
    return this.#service.told('turned', id).at(-1)?.turns;
  }

  /** What the client and the agent have done so far. */
  get #signs() {
    return this.way.requests.length + this.runs + this.answer.pieces.length;
  }

  get shown() {
    return this.answer.pieces.join('');
  }

  get end() {
    return this.answer.end;
  }

  /** Lets the agent go on. */
  open() {
    this.#service.open(this.id);
  }

  /** Waits until the client shows what the agent writes first. Some show nothing before the end. */
  async first() {
    await until(() => this.runs > 0 || this.end, END_MS);
    await until(() => /one/.test(this.shown) || this.end, SHOWN_MS);
    return /one/.test(this.shown);
  }

  /** Lets the agent go on, and waits for the end of the answer. */
  async ended() {
    this.open();
    const latest = performance.now() + END_MS;
    for (let signs = -1; signs !== this.#signs && performance.now() < latest;) {
      signs = this.#signs;
      await until(() => this.end || signs !== this.#signs, SILENT_MS);
      if (this.end) break;
    }
    return this.end;
  }

  stop() {
    this.open();
    this.answer.abort();
    this.way.stop();
  }
}

/** Waits until something is the case, or a time has passed. Resolves with whether it is the case. */
export async function until(isSo, withinMs) {
  const latest = performance.now() + withinMs;
  while (!isSo() && performance.now() < latest) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  return Boolean(isSo());
}
