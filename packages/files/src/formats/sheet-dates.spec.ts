import { toIsoDate } from './sheet-dates.js';

describe('toIsoDate', () => {
  it.each([
    [1, false, '1900-01-01'],
    [59, false, '1900-02-28'],
    [61, false, '1900-03-01'],
    [45_351, false, '2024-02-29'],
    [45_351.75, false, '2024-02-29 18:00:00'],
    [0, true, '1904-01-01'],
    [43_889, true, '2024-02-29'],
    [-1, false, undefined],
    [1e12, false, undefined],
  ])('reads day %d (from 1904: %s) as %s', (serial, from1904, date) => {
    expect(toIsoDate(serial, from1904)).toBe(date);
  });
});
