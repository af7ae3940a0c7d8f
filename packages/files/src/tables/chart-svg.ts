import type { Chart, Point } from './chart.js';
import { rounded } from './result-forms.js';

const WIDTH = 720;
const PADDING = 16;
/** Where the drawing begins, below the title and, where there is one, the legend. */
const TOP = 44;
const LEGEND = 24;
/** The names of bars, and the numbers at their ends. */
const LABEL_WIDTH = 180;
const LABEL_LENGTH = 26;
const NUMBER_WIDTH = 84;
const BAR = 18;
const ROW_GAP = 10;
/** The plot of a line. */
const LINE_HEIGHT = 280;
const AXIS_WIDTH = 72;
const DATES = 8;
const TICKS = 5;
/** Colours that differ in lightness too. */
const COLOURS = ['#1f5fa8', '#d9822b', '#5b8f3e'];

/** Draws a chart as a document of SVG 1.1. It has no script, loads nothing, and all texts of tables are escaped. */
export function drawChart(chart: Chart): string {
  const top = TOP + (chart.series.length > 1 ? LEGEND : 0);
  const { body, height } = chart.kind === 'line' ? lineOf(chart, top) : barsOf(chart, top);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" ` +
      'role="img" aria-labelledby="title description" font-family="system-ui, sans-serif" font-size="13">',
    `<title id="title">${escaped(chart.title)}</title>`,
    `<desc id="description">${escaped(descriptionOf(chart))}</desc>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="${PADDING}" y="26" font-size="15" font-weight="600" fill="#1a1a1a">${escaped(clipped(chart.title, 80))}</text>`,
    ...(chart.series.length > 1 ? legendOf(chart.series) : []),
    ...body,
    '</svg>\n',
  ].join('\n');
}

function barsOf({ series, points }: Chart, top: number): { body: string[]; height: number } {
  const rowHeight = BAR * series.length + ROW_GAP;
  const height = top + points.length * rowHeight + PADDING;
  const scale = scaleOf(points, PADDING + LABEL_WIDTH, WIDTH - PADDING - NUMBER_WIDTH);
  const zero = scale.at(0);
  const body = [`<path d="M${at(zero)} ${top - 4}V${height - PADDING}" stroke="#8a8a8a"/>`];
  for (const [row, { label, values }] of points.entries()) {
    const y = top + row * rowHeight;
    const middle = y + (rowHeight - ROW_GAP) / 2;
    body.push(textAt(PADDING + LABEL_WIDTH - 8, middle + 4, 'end', clipped(label, LABEL_LENGTH)));
    for (const [index, value] of values.entries()) {
      if (value === null) continue;
      const x = scale.at(value);
      const barY = y + index * BAR;
      body.push(
        `<rect x="${at(Math.min(x, zero))}" y="${barY}" width="${at(Math.max(1, Math.abs(x - zero)))}" height="${BAR - 3}" ` +
          `fill="${COLOURS[index]}"/>`,
        textAt(Math.max(x, zero) + 6, barY + 12, 'start', numberText(value)),
      );
    }
  }
  return { body, height };
}

function lineOf({ series, points }: Chart, top: number): { body: string[]; height: number } {
  const [left, right, bottom] = [PADDING + AXIS_WIDTH, WIDTH - PADDING - 24, top + LINE_HEIGHT];
  const scale = scaleOf(points, bottom, top);
  const [first, last] = [points[0]!.time, points.at(-1)!.time];
  const xOf = ({ time }: Point) => left + ((time - first) / (last - first)) * (right - left);
  const body = scale.ticks.flatMap((tick) => [
    `<path d="M${left} ${at(scale.at(tick))}H${right}" stroke="${tick === 0 ? '#8a8a8a' : '#e2e2e2'}"/>`,
    textAt(left - 8, scale.at(tick) + 4, 'end', numberText(tick)),
  ]);
  const every = Math.ceil(points.length / DATES);
  for (const [index, point] of points.entries())
    if (index % every === 0) body.push(textAt(xOf(point), bottom + 22, 'middle', clipped(point.label, 16)));
  for (const [index, colour] of COLOURS.slice(0, series.length).entries()) {
    const places = points.map((point) => {
      const value = point.values[index]!;
      return value === null ? undefined : ([at(xOf(point)), at(scale.at(value))] as const);
    });
    // Where a number is missing, there is a gap.
    const line = places.map((place, row) => place && `${places[row - 1] ? 'L' : 'M'}${place.join(' ')}`);
    body.push(
      `<path d="${line.join('')}" fill="none" stroke="${colour}" stroke-width="2.5" stroke-linejoin="round"/>`,
      ...places.flatMap((place) =>
        place ? [`<circle cx="${place[0]}" cy="${place[1]}" r="3.5" fill="${colour}"/>`] : [],
      ),
    );
  }
  return { body, height: bottom + 40 };
}

function legendOf(series: string[]): string[] {
  const width = (WIDTH - 2 * PADDING) / series.length;
  return series.flatMap((name, index) => [
    `<rect x="${at(PADDING + index * width)}" y="${TOP - 4}" width="12" height="12" fill="${COLOURS[index]}"/>`,
    textAt(PADDING + index * width + 18, TOP + 7, 'start', clipped(name, Math.floor(width / 9))),
  ]);
}

interface Scale {
  at: (value: number) => number;
  ticks: number[];
}

/** Places of numbers from `start` to `end`, with zero and round steps. */
function scaleOf(points: Point[], start: number, end: number): Scale {
  const values = points.flatMap((point) => point.values).filter((value) => value !== null);
  const [lowest, highest] = [Math.min(0, ...values), Math.max(0, ...values)];
  const raw = highest / TICKS - lowest / TICKS || 1;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = size * ([1, 2, 5, 10].find((each) => size * each >= raw) ?? 10);
  const from = Math.floor(lowest / step);
  const to = Math.max(Math.ceil(highest / step), from + 1);
  const ticks = Array.from({ length: to - from + 1 }, (_, index) =>
    Number(((from + index) * step).toPrecision(12)),
  );
  return { at: (value) => start + ((value / step - from) / (to - from)) * (end - start), ticks };
}

function textAt(x: number, y: number, anchor: 'start' | 'middle' | 'end', text: string): string {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}" fill="#1a1a1a">${escaped(text)}</text>`;
}

/** All numbers of a chart, for those who do not see it. */
function descriptionOf({ kind, series, points }: Chart): string {
  const rows = points.map(({ label, values }) => {
    const numbers = values.map((value, index) => {
      const number = value === null ? 'missing' : numberText(value);
      return series.length > 1 ? `${series[index]} ${number}` : number;
    });
    return `${label}: ${numbers.join(', ')}`;
  });
  return `${kind === 'line' ? 'A line' : 'Bars'}. ${rows.join('; ')}.`;
}

/** `1,234.5`; a very large or small number as `1.2e+21`. */
function numberText(value: number): string {
  const short = Number(rounded(value));
  const size = Math.abs(short);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return value.toExponential(2);
  return short.toLocaleString('en-US', { maximumFractionDigits: 6 });
}

function at(place: number): string {
  return String(Math.round(place * 10) / 10);
}

function clipped(text: string, length: number): string {
  const letters = [...text];
  return letters.length <= length ? text : `${letters.slice(0, length - 1).join('')}…`;
}

function escaped(text: string): string {
  // These two are in no XML document.
  return text.replace(/[\ufffe\uffff]/g, '\ufffd').replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
