import { EmittedFiles } from './emitted-files.js';

/** In how many microtasks after a file a value is tried: more than there are between the last file and the end. */
const MICROTASKS = 12;

describe('The values of an answer with files', () => {
  it('are all taken, whenever they come after a file', async () => {
    const taken: unknown[] = [];
    const fail = (error: unknown) => void taken.push(error);
    for (let late = 0; late < MICROTASKS; late++) {
      let stored!: () => void;
      const file = new Promise<void>((resolve) => (stored = resolve));
      const take = (value: unknown) => taken.push(value);
      const answer = new EmittedFiles({ store: () => file, take, expect: () => undefined, fail });
      answer.take({ type: 'file' });
      stored();
      for (let i = 0; i < late; i++) await Promise.resolve();
      answer.take(late);
      while (answer.storing) await answer.storing;
    }
    expect(taken).toEqual(Array.from({ length: MICROTASKS }, (_, late) => late));
  });
});
