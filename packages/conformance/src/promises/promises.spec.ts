import { createHash } from 'node:crypto';
import { EDITION, LEVELS } from '../promise.js';
import { PROMISES } from './index.js';

/** What editions are, once they are published: one that is here never changes. A new promise belongs to a new edition. */
const FROZEN = {
  '2026-12': '1269fddc525a307ea7127d7ffd4348336bdb107af95d23b61293f7bea8816fb0',
  '2027-01': 'edcfbd98d270fe3185d6c5fe966bce95d70afa6a5acfd8bcf56ff2f370ae5fd5',
  '2027-02': 'b2d0890bdb85957652b439dc0b76f7a583c9ec6f1ea518cd08aca239d6626e6e',
};

describe('The promises', () => {
  it.each(Object.entries(FROZEN))('of the edition %s are those that were published', (edition, digest) => {
    const own = PROMISES.filter((promise) => promise.edition === edition);
    const lines = own.map(({ id, section, sentence }) => `${id} ${section} ${sentence}`).sort();
    expect(createHash('sha256').update(lines.join('\n')).digest('hex')).toBe(digest);
  });

  it('have ids of their own, which begin with the level', () => {
    expect(new Set(PROMISES.map(({ id }) => id)).size).toBe(PROMISES.length);
    expect(PROMISES.filter(({ id, level }) => !id.startsWith(`${level}.`))).toEqual([]);
  });

  it('are sentences, on every level', () => {
    expect(PROMISES.filter(({ sentence }) => !/^[A-Za-z].*\.$/.test(sentence))).toEqual([]);
    expect([...new Set(PROMISES.map(({ level }) => level))]).toEqual(Object.keys(LEVELS));
    expect(new Set(PROMISES.map(({ edition }) => edition))).toEqual(new Set(Object.keys(FROZEN)));
    expect(Object.keys(FROZEN).at(-1)).toBe(EDITION);
  });
});
