import { overriding } from './overriding.js';

class Store {
  files: string | undefined;
  #opened = 0;

  open(): void {
    this.files = 'files';
    this.#opened++;
  }

  get opened(): number {
    return this.#opened;
  }

  close(): string {
    return 'closed';
  }
}

describe('An object that overrides another one', () => {
  it('has the members of the other one, also those that it sets later', () => {
    const store = overriding(new Store(), {});
    expect([store.files, store.opened]).toEqual([undefined, 0]);
    store.open();
    expect([store.files, store.opened, store.close()]).toEqual(['files', 1, 'closed']);
  });

  it('has its own members in place of those', () => {
    const store = overriding(new Store(), { files: 'others', close: () => 'open' });
    store.open();
    expect([store.files, store.opened, store.close()]).toEqual(['others', 1, 'open']);
  });
});
