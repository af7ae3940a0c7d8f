import sax from 'sax';
import { drawChart } from './chart-svg.js';
import { type Chart, chartOf } from './chart.js';
import type { JsonValue } from './engine.js';

const chart = (columns: string[], rows: JsonValue[][]) => chartOf({ columns, rows, isCut: false });
const drawn = (columns: string[], rows: JsonValue[][]) => drawChart(chart(columns, rows) as Chart);

/** The elements of a document, by its names, with their texts. @throws if it is not well-formed */
function elementsOf(svg: string): [name: string, attributes: Record<string, string>, text: string][] {
  const elements: [string, Record<string, string>, string][] = [];
  const parser = sax.parser(true);
  parser.onerror = (error) => {
    throw error;
  };
  parser.onopentag = ({ name, attributes }) =>
    elements.push([name, attributes as Record<string, string>, '']);
  parser.ontext = (text) => (elements.at(-1)![2] += text.trim());
  parser.write(svg).close();
  return elements;
}

const textsOf = (svg: string) => elementsOf(svg).flatMap(([name, , text]) => (name === 'text' ? [text] : []));
const widthsOf = (svg: string) =>
  elementsOf(svg).flatMap(([name, { width }]) => (name === 'rect' ? [Number(width)] : []));

describe('A chart', () => {
  it('has a bar for each row, with its name and its number, and says all in its description', () => {
    const svg = drawn(
      ['city', 'total'],
      [
        ['Oslo', 1200],
        ['Bergen', 600.5],
        ['Moss', null],
      ],
    );
    expect(textsOf(svg)).toEqual(['total by city', 'Oslo', '1,200', 'Bergen', '600.5', 'Moss']);
    const [background, oslo, bergen, ...more] = widthsOf(svg);
    expect([background, more]).toEqual([720, []]);
    expect(oslo! / bergen!).toBeCloseTo(1200 / 600.5, 2);
    const [root, title, description] = elementsOf(svg);
    expect(root![1]).toMatchObject({ role: 'img', 'aria-labelledby': 'title description' });
    expect([title![0], title![2]]).toEqual(['title', 'total by city']);
    expect(description![0]).toBe('desc');
    expect(description![2]).toBe('Bars. Oslo: 1,200; Bergen: 600.5; Moss: missing.');
  });

  it('is a line over dates, in their order', () => {
    const made = chart(
      ['day', 'n'],
      [
        ['2026-03-01', 3],
        ['2026-01-01', 1],
        ['2026-02-01', -2],
      ],
    ) as Chart;
    expect(made.kind).toBe('line');
    expect(made.points.map(({ label }) => label)).toEqual(['2026-01-01', '2026-02-01', '2026-03-01']);
    const svg = drawChart(made);
    expect(elementsOf(svg).filter(([name]) => name === 'circle')).toHaveLength(3);
    expect(textsOf(svg)).toEqual(expect.arrayContaining(['2026-01-01', '-2', '0', '3']));
  });

  it('has a gap in its line where a number is missing', () => {
    const numbers = [1, 2, null, 4, 5];
    const svg = drawn(
      ['day', 'n'],
      numbers.map((number, index) => [`2026-01-0${index + 1}`, number]),
    );
    const [line] = elementsOf(svg).flatMap(([, { d, fill }]) => (fill === 'none' ? [d!] : []));
    expect(line!.replace(/[\d. ]+/g, '')).toBe('MLML');
    expect(elementsOf(svg).filter(([name]) => name === 'circle')).toHaveLength(4);
  });

  it('has bars where a date occurs twice, or a text is no date, or for one date', () => {
    const twice = [
      ['2026-01-01', 1],
      ['2026-01-01', 2],
      ['2026-02-01', 3],
    ];
    expect(chart(['day', 'n'], twice)).toMatchObject({ kind: 'bars' });
    expect(chart(['day', 'n'], [...twice.slice(1), ['later', 3]])).toMatchObject({ kind: 'bars' });
    expect(chart(['day', 'n'], twice.slice(0, 1))).toMatchObject({ kind: 'bars' });
    expect(chart(['day', 'n'], twice.slice(1))).toMatchObject({ kind: 'line' });
  });

  it('has up to three columns of numbers, with a legend', () => {
    const svg = drawn(['city', 'a', 'b', 'c'], [['Oslo', 1, 2, 3]]);
    expect(textsOf(svg)).toEqual(['a, b, c by city', 'a', 'b', 'c', 'Oslo', '1', '2', '3']);
  });

  it('takes the first column of numbers for names where there is no other', () => {
    expect(
      chart(
        ['year', 'n'],
        [
          [2025, 1],
          [2026, 2],
        ],
      ),
    ).toMatchObject({ series: ['n'], title: 'n by year' });
  });

  it('has the first 50 rows', () => {
    const rows = Array.from({ length: 80 }, (_, index) => [`row ${index}`, index]);
    expect((chart(['a', 'n'], rows) as Chart).points).toHaveLength(50);
  });

  it.each([
    ['no rows', ['a', 'n'], [], /it has no rows/],
    ['no numbers', ['a', 'b'], [['x', 'y']], /columns of numbers/],
    ['one column', ['n'], [[1]], /columns of numbers/],
    ['four columns of numbers', ['a', 'b', 'c', 'd', 'e'], [['x', 1, 2, 3, 4]], /one to three/],
    ['three columns of texts', ['a', 'b', 'c', 'n'], [['x', 'y', 'z', 1]], /one to three/],
    ['numbers that are too large', ['a', 'n'], [['x', 1.7e308]], /columns of numbers/],
    ['lists', ['a', 'n'], [['x', [1]]], /columns of numbers/],
  ] as [string, string[], JsonValue[][], RegExp][])(
    'is refused in a sentence for %s',
    (_, columns, rows, says) => {
      expect(chart(columns, rows)).toMatch(says);
    },
  );

  it('shows names and values with markup as they are, and has no element of them', () => {
    const markup = `"><script>alert(1)</script><image href='x' onerror=alert(1)>&amp;]]>\u0000\u202e\ud800\uffff`;
    const svg = drawn(
      [markup, markup],
      [
        [markup, 1],
        ['<!--', 2],
        ['<![CDATA[', 3],
      ],
    );
    expect(new Set(elementsOf(svg).map(([name]) => name))).toEqual(
      new Set(['svg', 'title', 'desc', 'rect', 'text', 'path']),
    );
    expect(textsOf(svg)).toContain('<!--');
    expect(textsOf(svg)[0]).toContain('<script>alert(1)</script>');
  });

  it.each([
    ['equal numbers', [7, 7]],
    ['zeros', [0, 0]],
    ['negative numbers', [-5, -1]],
    ['very large and very small numbers', [9e299, -9e299]],
    ['tiny numbers', [5e-324, 1e-300]],
  ])('is drawn within its bounds for %s', (_, numbers) => {
    for (const labels of [
      ['a', 'b', 'c'],
      ['2026-01-01', '2026-01-02', '2026-01-03'],
    ]) {
      const svg = drawn(
        ['a', 'n'],
        labels.map((label, index) => [label, numbers[index % 2]!]),
      );
      expect(svg).not.toMatch(/NaN|Infinity|undefined/);
      for (const [, x] of svg.matchAll(/ x="([^"]+)"/g)) expect(Number(x)).toBeLessThanOrEqual(720);
      for (const width of widthsOf(svg)) expect(width).toBeGreaterThanOrEqual(0);
    }
  });
});
