import { leavingFound } from './leaving.js';

describe('A client that leaves', () => {
  it.each([
    [20, 62_000, 'ok', 'noticed after 20 ms'],
    [2_999, 62_000, 'ok', 'noticed after 3 s'],
    [3_000, 62_000, 'warning', 'noticed after 3 s'],
    [17_040, 62_000, 'warning', 'noticed after 17 s'],
    [undefined, 5_000, 'warning', 'not noticed within 5 s; --idle 30 shows whether it ever is'],
    [
      ...([undefined, 25_000, 'problem'] as const),
      'not noticed within 25 s: runs go on although nobody waits for them',
    ],
  ])('is noticed after %s of %d ms: %s', (noticed, waitMs, verdict, measured) => {
    expect(leavingFound(noticed, waitMs)).toEqual({
      ...{ check: 'leaving', verdict, measured },
      ...{ fix: verdict === 'ok' ? undefined : 'leaving', subject: undefined },
    });
  });
});
