import type { RunRecord } from '../ports/run-store.js';
import { OrderedValues } from './ordered-values.js';
import type { RunnerServices } from './runner-services.js';

/** In how many microtasks after a file a value is tried: more than there are between the last file and the end. */
const MICROTASKS = 24;

describe('The values of an answer with files', () => {
  it('are all taken, whenever they come after a file', async () => {
    const taken: unknown[] = [];
    const run = { hasEnded: false, stopFailed: (error: unknown) => void taken.push(error) };
    for (let late = 0; late < MICROTASKS; late++) {
      let received!: () => void;
      const file = new Promise<void>((resolve) => (received = resolve));
      const content = { file: async () => undefined, discard: async () => undefined };
      const contents = { receive: () => file.then(() => ({ name: 'a.txt', content })) };
      const files = { ofAnswer: () => contents, keepOfAnswer: async () => undefined };
      const services = { files, settings: { path: '/query' } } as unknown as RunnerServices;
      const write = (value: unknown) => taken.push(typeof value === 'number' ? value : 'file');
      const answer = new OrderedValues(services, run, {} as RunRecord, write);
      answer.take({ type: 'file' });
      received();
      for (let i = 0; i < late; i++) await Promise.resolve();
      answer.take(late);
      while (answer.storing) await answer.storing;
    }
    expect(taken).toEqual(Array.from({ length: MICROTASKS }, (_, late) => ['file', late]).flat());
  });
});
