import { readNumbers } from './read-numbers.js';

describe('The numbers of a column', () => {
  it.each([
    ['whole numbers', ['1', '1042'], [1, 1042]],
    ['signs', ['-88', '−3', '–4', '+5'], [-88, -3, -4, 5]],
    ['negative numbers in parentheses', ['(3,200.50)', '12'], [-3200.5, 12]],
    ['groups with commas', ['1,204', '1,204,500', '12,34,567'], [1204, 1_204_500, 1_234_567]],
    ['groups and decimals', ['1,204.50', '7.5'], [1204.5, 7.5]],
    ['decimal commas', ['1.204,50', '7,5', '1.204'], [1204.5, 7.5, 1204]],
    ['groups with points, of which one has several', ['1.204.500', '3.200'], [1_204_500, 3200]],
    ['groups with spaces', ['1 204,5', '12 500', '1\u00a0204', '1\u202f204'], [1204.5, 12_500, 1204, 1204]],
    ['groups with apostrophes and underscores', ["1'204.5", '1’204', '1_204'], [1204.5, 1204, 1204]],
    ['exponents', ['1e6', '2.5E-3'], [1_000_000, 0.0025]],
    ['decimals without a zero', ['.5', '0.25'], [0.5, 0.25]],
    ['three decimals of a number below one', ['0.125', '0.500'], [0.125, 0.5]],
    [
      'missing numbers',
      ['1', '', '-', 'n/a', 'NULL', '2'],
      [1, undefined, undefined, undefined, undefined, 2],
    ],
  ])('are read: %s', (_, texts, values) => {
    expect(readNumbers(texts)).toEqual({ values, before: '', after: '' });
  });

  it.each([
    [['12.4 %', '-3%'], [12.4, -3], '', '%'],
    [['€ 3', '€1,200', '€-5'], [3, 1200, -5], '€', ''],
    [['-$3', '$4'], [-3, 4], '$', ''],
    [['81.204,50 €', '-3,00 €'], [81_204.5, -3], '', '€'],
    [['EUR 12', 'EUR 7.5'], [12, 7.5], 'EUR', ''],
    [['12 EUR', '7 EUR'], [12, 7], '', 'EUR'],
    [['12 km/h', '7 km/h'], [12, 7], '', 'km/h'],
  ])('have one unit: %j', (texts, values, before, after) => {
    expect(readNumbers(texts)).toEqual({ values, before, after });
  });

  it('have the decimal point of the other columns, if they do not say which', () => {
    expect(readNumbers(['1,204', '3,500'])?.values).toEqual([1204, 3500]);
    expect(readNumbers(['1,204', '3,500'], ',')?.values).toEqual([1.204, 3.5]);
    expect(readNumbers(['1.204', '3.500'])?.values).toEqual([1.204, 3.5]);
    expect(readNumbers(['1.204', '3.500'], ',')?.values).toEqual([1204, 3500]);
  });

  it.each([
    ['texts', ['Oslo', '1']],
    ['several currencies', ['€ 3', '$ 3']],
    ['several units', ['3 kB', '1 MB']],
    ['shares beside amounts', ['3', '3 %']],
    ['two decimal points', ['1,5', '1.5']],
    ['identifiers with a zero before them', ['0042', '1']],
    ['versions', ['1.2.3', '1.2.4']],
    ['addresses', ['10.0.0.1', '10.0.0.2']],
    ['dates', ['2026-03-04', '2026-03-05']],
    ['dates with points', ['04.03.2026', '05.03.2026']],
    ['times', ['12:30', '12:31']],
    ['groups of other lengths', ['1 2 3', '4']],
    ['half of the parentheses', ['(3', '4']],
    ['two signs', ['-€-3', '€4']],
    ['a number without an end', [`1${'0'.repeat(400)}`, '1']],
    ['an exponent without an end', ['1e999', '1']],
    ['nothing', ['', '-']],
  ])('are none: %s', (_, texts) => expect(readNumbers(texts)).toBeUndefined());
});
