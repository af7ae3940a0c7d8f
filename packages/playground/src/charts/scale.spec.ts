import { dateMarks, numberMarks, roundLimits, scaleOf } from './scale.js';

const namesOf = (marks: { name: string }[]) => marks.map(({ name }) => name);
const dates = (low: string, high: string, most: number) =>
  namesOf(dateMarks(scaleOf([Date.parse(low), Date.parse(high)], 0, 100), most));

describe('The scale of a chart', () => {
  it('places numbers, also where all are the same', () => {
    expect([10, 15, 20].map(scaleOf([10, 20], 200, 0).placeOf)).toEqual([200, 100, 0]);
    expect(scaleOf([3, 3], 0, 100).placeOf(3)).toBe(0);
  });

  it('has round limits and marks with short names', () => {
    expect(roundLimits(3, 97, 4)).toEqual([0, 100]);
    expect(namesOf(numberMarks(scaleOf([0, 100], 0, 1), 4))).toEqual(['0', '20', '40', '60', '80', '100']);
    expect(namesOf(numberMarks(scaleOf([0, 2_000_000], 0, 1), 2))).toEqual(['0', '1M', '2M']);
    expect(namesOf(numberMarks(scaleOf([1_000_000, 1_000_004], 0, 1), 2))).toEqual([
      '1,000,000',
      '1,000,002',
      '1,000,004',
    ]);
  });

  it('has so many dates at most, with the year where it begins', () => {
    expect(dates('2020-01-01', '2026-01-01', 7)).toEqual([
      '2020',
      '2021',
      '2022',
      '2023',
      '2024',
      '2025',
      '2026',
    ]);
    expect(dates('2025-11-01', '2026-03-01', 6)).toEqual(['Nov', 'Dec', '2026', 'Feb', 'Mar']);
    expect(dates('2026-03-04', '2026-03-07', 4)).toEqual(['Mar 4', 'Mar 5', 'Mar 6', 'Mar 7']);
    expect(dates('2026-03-04T00:00Z', '2026-03-04T12:00Z', 3)).toEqual(['00:00', '06:00', '12:00']);
    expect(dates('2026-01-01', '2026-04-09', 7).length).toBeLessThanOrEqual(7);
  });
});
