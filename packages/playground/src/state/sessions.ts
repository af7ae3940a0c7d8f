import type { SessionView } from 'nest-agent-query-client';
import type { Calls } from './calls.js';
import { isOpening, nameOf, NAMING_TURNS } from './conversation-name.js';
import { Store } from './store.js';
import { questionOf } from './turn.js';
import { rootOf } from './versions.js';

/** The list of sessions, last used first. */
export class Sessions extends Store {
  list: SessionView[] = [];
  next: string | null = null;
  isLoaded = false;
  fault: string | undefined;
  #reloading: Promise<void> | undefined;
  #isNaming = false;
  /** Names that the list of the service does not have, with the number of turns that they come from. */
  readonly #names = new Map<string, { name: string | undefined; turns: number }>();
  /** Whether something has changed since the last request was sent. */
  #isStale = false;

  constructor(private readonly calls: Calls) {
    super();
  }

  /** Loads the first page, for the user, who is asked for the API key. */
  load(): Promise<void> {
    return this.#load((action) => this.calls.during(action));
  }

  /** Loads the first page again, because something has changed. */
  reload(): Promise<void> {
    this.#isStale = true;
    this.#reloading ??= this.#whileStale();
    return this.#reloading;
  }

  /** Loads the next page. */
  more(): Promise<void> {
    return this.#load((action) => this.calls.during(action), this.next!);
  }

  /** The name of a session. Its title is the beginning of its first text. */
  nameOf({ id, title }: SessionView): string {
    const isName = title !== null && !isOpening(title);
    return (isName ? undefined : this.#names.get(id)?.name) ?? title ?? 'Without a text';
  }

  /** Of each conversation the version that was used last. */
  get conversations(): SessionView[] {
    const roots = this.list.map(({ id }) => rootOf(id));
    return this.list.filter((_, index) => roots.indexOf(roots[index]!) === index);
  }

  /** The session in the list, as far as it is loaded. */
  find(id: string): SessionView | undefined {
    return this.list.find((session) => session.id === id);
  }

  erased(id: string): void {
    this.#names.delete(id);
    this.list = this.list.filter((session) => session.id !== id);
    this.changed();
    // A response that is under way may still have it.
    void this.reload();
  }

  /** One request at a time. Its response may be older than what changes meanwhile. */
  async #whileStale(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      await this.#load((action) => action());
    }
    this.#reloading = undefined;
  }

  async #load(attempt: Calls['during'], after?: string): Promise<void> {
    try {
      const page = await attempt(() => this.calls.client.sessions({ after }));
      const isNew = new Set(page.sessions.map(({ id }) => id));
      const others = this.list.filter(({ id }) => !isNew.has(id));
      // What was loaded beyond the first page stays, unless that page is the whole list.
      if (after === undefined) this.list = page.next === null ? page.sessions : [...page.sessions, ...others];
      else this.list = [...others, ...page.sessions];
      if (after !== undefined || !this.isLoaded || page.next === null) this.next = page.next;
      this.fault = undefined;
    } catch (error) {
      this.fault = (error as Error).message;
    }
    this.isLoaded = true;
    this.changed();
    if (!this.#isNaming) void this.#nameOthers();
  }

  /** Looks into the sessions that their title does not name, one after the other, when they have another turn. */
  async #nameOthers(): Promise<void> {
    this.#isNaming = true;
    for (let session; (session = this.list.find((each) => this.#isUnnamed(each))); this.changed()) {
      const { id, turns } = session;
      // What cannot be read keeps its title until it has another turn.
      const page = await this.calls.client.session(id, { limit: NAMING_TURNS }).catch(() => undefined);
      const name = page && nameOf(page.turns.map(questionOf));
      this.#names.set(id, { name, turns: Math.min(turns, NAMING_TURNS) });
    }
    this.#isNaming = false;
  }

  #isUnnamed({ id, title, turns }: SessionView): boolean {
    if (title !== null && !isOpening(title)) return false;
    return Math.min(turns, NAMING_TURNS) > (this.#names.get(id)?.turns ?? 0);
  }
}
