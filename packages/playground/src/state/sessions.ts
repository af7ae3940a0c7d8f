import type { SessionView } from 'nest-agent-query-client';
import type { Calls } from './calls.js';
import { Store } from './store.js';

/** The list of sessions, last used first. */
export class Sessions extends Store {
  list: SessionView[] = [];
  next: string | null = null;
  isLoaded = false;
  fault: string | undefined;
  #reloading: Promise<void> | undefined;
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

  erased(id: string): void {
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
  }
}
