import { AgentQueryError } from 'nest-agent-query-client';
import { Store } from './store.js';
import { keepInTab, keptInTab, removeFromTab } from './tab-storage.js';

const PLACE = 'api-key';

/** The API key. The tab keeps it until it is closed. */
export class ApiKey extends Store {
  #answer: ((isGiven: boolean) => void) | undefined;
  #asking: Promise<boolean> | undefined;
  /** Why the page asks for the key; undefined while it does not. */
  question: string | undefined;

  get value(): string | undefined {
    return keptInTab(PLACE);
  }

  get headers(): Record<string, string> {
    const { value } = this;
    return value === undefined ? {} : { Authorization: `Bearer ${value}` };
  }

  /** Does something that needs a key. Asks for the key if the service wants one, and then does it again. */
  async during<T>(action: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await action();
      } catch (error) {
        if (!(error instanceof AgentQueryError) || error.status !== 401 || !(await this.#ask())) throw error;
      }
    }
  }

  /** The user gives the key, or closes the question. */
  give(key: string | undefined): void {
    if (key !== undefined) keepInTab(PLACE, key);
    this.question = undefined;
    this.#answer?.(key !== undefined);
    this.changed();
  }

  forget(): void {
    removeFromTab(PLACE);
    this.changed();
  }

  /** Several requests that are refused at once ask once. */
  #ask(): Promise<boolean> {
    this.#asking ??= new Promise<boolean>((resolve) => {
      this.question =
        this.value === undefined ? 'This service needs an API key.' : 'The service refuses this key.';
      this.#answer = resolve;
      this.changed();
    }).finally(() => (this.#asking = undefined));
    return this.#asking;
  }
}
