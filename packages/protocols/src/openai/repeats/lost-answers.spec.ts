import { jest } from '@jest/globals';
import { LostAnswers } from './lost-answers.js';

describe('Answers that were lost', () => {
  let now = 0;
  beforeEach(() => {
    now = 1_000_000;
    jest.spyOn(Date, 'now').mockImplementation(() => now);
  });
  afterEach(() => jest.restoreAllMocks());

  it('are found once each, the last one first, by their digest only', () => {
    const lost = new LostAnswers();
    lost.add('a', '1');
    lost.add('b', '2');
    lost.add('a', '3');
    expect(['a', 'a', 'a', 'b', 'b'].map((digest) => lost.take(digest))).toEqual([
      '3',
      '1',
      undefined,
      '2',
      undefined,
    ]);
  });

  it('are found for a minute', () => {
    const lost = new LostAnswers();
    lost.add('a', '1');
    lost.add('a', '2');
    now += 59_999;
    expect(lost.take('a')).toBe('2');
    now += 1;
    expect(lost.take('a')).toBeUndefined();
  });

  it('are a thousand at most: the oldest is forgotten', () => {
    const lost = new LostAnswers();
    for (let count = 0; count <= 1_000; count++) lost.add(`${count}`, `${count}`);
    expect([lost.take('0'), lost.take('1'), lost.take('1000')]).toEqual([undefined, '1', '1000']);
  });
});
