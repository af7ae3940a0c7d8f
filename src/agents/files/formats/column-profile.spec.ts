import { ColumnProfile } from './column-profile.js';

function profile(...cells: string[]): string[] {
  const column = new ColumnProfile(0);
  for (const cell of cells) column.add(cell);
  return column.toCells();
}

describe('ColumnProfile', () => {
  it.each([
    [
      ['1', '2', '-3'],
      ['integer', '0', '3', '`-3`', '`2`', '0'],
    ],
    [
      ['1', '2.5', ''],
      ['number', '1', '2', '`1`', '`2.5`', '1.75'],
    ],
    [
      ['1,234.5', '1e3'],
      ['number', '0', '2', '`1e3`', '`1,234.5`', '1117.25'],
    ],
    [
      ['1,5', '2,25', 'NA'],
      ['number (decimal comma)', '1', '2', '`1,5`', '`2,25`', '1.875'],
    ],
    [
      ['00123', '00124'],
      ['text', '0', '2', '', '', ''],
    ],
    [
      ['true', 'FALSE', 'null'],
      ['boolean', '1', '2', '', '', ''],
    ],
    [
      ['2024-02-29', '2023-12-31'],
      ['date', '0', '2', '`2023-12-31`', '`2024-02-29`', ''],
    ],
    [
      ['2024-02-30', '2023-12-31'],
      ['text', '0', '2', '', '', ''],
    ],
    [
      ['2024-02-29 12:00', '2024-02-29T11:00:00Z'],
      ['date and time', '0', '2', '`2024-02-29T11:00:00Z`', '`2024-02-29 12:00`', ''],
    ],
    [
      ['29.02.2024', '1.3.2024'],
      ['date (day first)', '0', '2', '`29.02.2024`', '`1.3.2024`', ''],
    ],
    [
      ['02/29/2024', '03/01/2024'],
      ['date (month first)', '0', '2', '`02/29/2024`', '`03/01/2024`', ''],
    ],
    [
      ['', ' ', 'n/a'],
      ['empty', '3', '0', '', '', ''],
    ],
    [
      ['a', 'b', 'a'],
      ['text', '0', '2', '', '', ''],
    ],
  ])('profiles %j as %j', (cells, expected) => expect(profile(...cells)).toEqual(expected));

  it('stops counting different values at one hundred', () => {
    expect(profile(...Array.from({ length: 100 }, (_, index) => `v${index}`))[2]).toBe('100');
    expect(profile(...Array.from({ length: 101 }, (_, index) => `v${index}`))[2]).toBe('many');
  });
});
