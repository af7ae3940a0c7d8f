import { readDates, readYears } from './read-dates.js';

const DAY = '2026-03-04T00:00:00.000Z';

describe('The dates of a column', () => {
  it.each([
    ['2026-03-04', DAY],
    ['2026/03/04', DAY],
    ['2026-03-04 12:30', '2026-03-04T12:30:00.000Z'],
    ['2026-03-04T12:30:15.250Z', '2026-03-04T12:30:15.000Z'],
    ['2026-03', '2026-03-01T00:00:00.000Z'],
    ['2026-Q2', '2026-04-01T00:00:00.000Z'],
    ['Q4 2026', '2026-10-01T00:00:00.000Z'],
    ['4.3.2026', DAY],
    ['Mar 2026', '2026-03-01T00:00:00.000Z'],
    ['4 March 2026', DAY],
    ['March 4, 2026', DAY],
    ['Sept 30, 2026', '2026-09-30T00:00:00.000Z'],
  ])('are read: %s', (text, time) => {
    expect(readDates([text])?.map((each) => new Date(each).toISOString())).toEqual([time]);
  });

  it('have the day before or after the month, as one of them says', () => {
    expect(readDates(['03/04/2026', '13/04/2026'])).toEqual([Date.UTC(2026, 3, 3), Date.UTC(2026, 3, 13)]);
    expect(readDates(['03/04/2026', '03/14/2026'])).toEqual([Date.UTC(2026, 2, 4), Date.UTC(2026, 2, 14)]);
    expect(readDates(['03/04/2026', '05/04/2026'])).toBeUndefined();
  });

  it.each([
    ['a day that is none', ['2026-02-31']],
    ['a month that is none', ['2026-13-01']],
    ['an hour that is none', ['2026-03-04 24:30']],
    ['several forms', ['2026-03-04', '4.3.2026']],
    ['a text', ['2026-03-04', 'Oslo']],
    ['a missing date', ['2026-03-04', '']],
    ['a text with a number', ['May 5']],
  ])('are none: %s', (_, texts) => expect(readDates(texts)).toBeUndefined());

  it('may be years', () => {
    expect(readYears(['2025', '2026'])).toEqual([Date.UTC(2025, 0), Date.UTC(2026, 0)]);
    expect(readYears(['2025', '1042'])).toBeUndefined();
  });
});
