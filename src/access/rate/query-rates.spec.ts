/** @jest-environment-options {"isIsolated": true} */
import { jest } from '@jest/globals';
import { openQueryRates } from './open-query-rates.js';

describe('The rate of an owner', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('begins a new minute after the minute of its first query', async () => {
    const rates = await openQueryRates({ queriesPerMinute: 2 });
    expect(await rates.count('ann')).toEqual({ isExceeded: false, remaining: 1, resetSeconds: 60 });
    jest.advanceTimersByTime(45_500);
    expect(await rates.count('ann')).toEqual({ isExceeded: false, remaining: 0, resetSeconds: 15 });
    expect(await rates.count('ann')).toEqual({ isExceeded: true, remaining: 0, resetSeconds: 15 });
    expect(await rates.count('bob')).toEqual({ isExceeded: false, remaining: 1, resetSeconds: 60 });
    jest.advanceTimersByTime(14_500);
    expect(await rates.count('ann')).toEqual({ isExceeded: false, remaining: 1, resetSeconds: 60 });
    await rates.close();
  });
});
