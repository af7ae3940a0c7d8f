import type { InputView } from 'nest-agent-query-client';
import type { Calls } from './calls.js';
import type { Sessions } from './sessions.js';
import { Store } from './store.js';

/** How often a visible window looks whether what waits was answered elsewhere. */
const AGAIN_MS = 15_000;

/** The open requests of all sessions, newest first. */
export class Inbox extends Store {
  list: InputView[] = [];
  /** Whether there are more than those of the list. */
  hasMore = false;
  /** The runs that ask, as far as the list of sessions says. */
  #asking: string | undefined;
  #loading: Promise<void> | undefined;
  #isStale = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly calls: Calls,
    private readonly sessions: Sessions,
  ) {
    super();
    sessions.subscribe(() => this.#compare());
  }

  /** Loads the list again, because something has changed. */
  reload(): Promise<void> {
    this.#isStale = true;
    this.#loading ??= this.#whileStale();
    return this.#loading;
  }

  /** Only what the sessions say leads to a request: most agents never ask. */
  #compare(): void {
    const { isLoaded, fault, list } = this.sessions;
    if (!isLoaded || fault !== undefined) return;
    const asking = list.flatMap((session) => session.asking ?? []).join(' ');
    if (asking === this.#asking) return;
    this.#asking = asking;
    void this.reload();
  }

  /** One request at a time. Its response may be older than what changes meanwhile. */
  async #whileStale(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      try {
        const { inputs, next } = await this.calls.client.openInputs();
        this.list = inputs;
        this.hasMore = next !== null;
        this.changed();
      } catch {
        // The list of sessions says why the service gives no lists. What is known stays.
      }
    }
    this.#loading = undefined;
    this.#again();
  }

  #again(): void {
    clearTimeout(this.#timer);
    if (this.list.length === 0) return;
    this.#timer = setTimeout(() => {
      if (document.visibilityState !== 'visible') return this.#again();
      void this.sessions.reload();
      void this.reload();
    }, AGAIN_MS);
  }
}
