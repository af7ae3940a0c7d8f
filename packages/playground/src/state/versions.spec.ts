import { firstOther, newVersionOf, rootOf, versionsOf } from './versions.js';

const [ROOT, A, B, A2, LATER] = ['s', 's~3.a', 's~3.b', 's~3.a~2.c', 's~3.a~5.d'] as const;
const ALL = [LATER, A2, B, A, ROOT, 'other', 'other~3.x'];

describe('Versions of a conversation', () => {
  it('are named after the session that they come from, which may have any id', () => {
    for (const id of ['s', 'a~b', '1.2', A, 'line\nbreak']) {
      const version = newVersionOf(id, 7);
      expect([rootOf(version), firstOther(version, id)]).toEqual([rootOf(id), 7]);
    }
    expect(rootOf('s~x')).toBe('s~x');
    expect(newVersionOf(A, 3)).toMatch(/^s~3\.\w+$/);
    expect(newVersionOf(LATER, 2)).toMatch(/^s~2\.\w+$/);
  });

  it('share the turns before the first edit between them', () => {
    const pairs = [
      [ROOT, A, 3],
      [A, B, 3],
      [A, A2, 2],
      [ROOT, A2, 2],
      [B, A2, 2],
      [A, LATER, 5],
      [ROOT, LATER, 3],
      [A2, LATER, 2],
      [A, A, undefined],
    ] as const;
    for (const [one, two, turn] of pairs) {
      expect([one, two, firstOther(one, two)]).toEqual([one, two, turn]);
      expect([two, one, firstOther(two, one)]).toEqual([two, one, turn]);
    }
  });

  it('of a turn are those that share the turns before it, each once, oldest first', () => {
    expect(versionsOf(ROOT, 3, ALL)).toEqual([ROOT, LATER, B]);
    expect(versionsOf(A, 3, ALL)).toEqual([ROOT, A, B]);
    expect(versionsOf(A, 5, ALL)).toEqual([A, LATER]);
    expect(versionsOf(B, 2, ALL)).toEqual([B, A2]);
    expect(versionsOf(A2, 3, ALL)).toEqual([A2]);
    expect(versionsOf(ROOT, 1, ALL)).toEqual([ROOT]);
  });
});
