import { useLayoutEffect, useReducer } from 'preact/hooks';

/** How long a window without frames waits before it is drawn. */
const BACKGROUND_MS = 250;

/** What components show. Whoever changes it calls `changed`; components are drawn once per frame. */
export class Store {
  readonly #listeners = new Set<() => void>();
  #isPlanned = false;
  /** Counts changes. */
  version = 0;

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(): void {
    this.version += 1;
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    const draw = () => this.#isPlanned && this.draw();
    requestAnimationFrame(draw);
    // A window in the background has no frames.
    setTimeout(draw, BACKGROUND_MS);
  }

  protected draw(): void {
    this.#isPlanned = false;
    for (const listener of this.#listeners) listener();
  }
}

/** Draws the component again when the store has changed. */
export function useStore<S extends Store>(store: S): S {
  const [, draw] = useReducer((count: number, _: void) => count + 1, 0);
  const seen = store.version;
  useLayoutEffect(() => {
    // It may have changed before somebody listened.
    if (store.version !== seen) draw(undefined);
    return store.subscribe(() => draw(undefined));
  }, [store]);
  return store;
}
