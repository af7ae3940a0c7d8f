/** Draws what the measure `growth` found, as SVG: both axes are logarithmic, and each line has its name at its end. */
import { GROWTH_EVENTS, GROWTH_RUNS, withRuns } from './measuring.mjs';
import { shown } from './targets.mjs';

const WIDTH = 960;
const HEIGHT = 602;
const PLOT = { left: 76, right: 644, top: 96, bottom: 500 };
/** What the first and the last point keep from the edges of the plot. */
const INSET = 24;
const LABEL_HEIGHT = 22;

/** A line is told from others by its dashes and the shape of its points, and not by its colours alone. */
const LINES = {
  raw: { name: 'raw node:http', light: '#57606a', dark: '#9aa4af', shape: 'circle' },
  ours: { name: 'this service, Express', light: '#0550ae', dark: '#58a6ff', shape: 'square' },
  oursFastify: { name: 'this service, Fastify', light: '#0a7d5a', dark: '#3fb98f', shape: 'diamond' },
  oursFile: {
    name: 'this service, file',
    light: '#0a7d5a',
    dark: '#3fb98f',
    shape: 'up',
    dash: '7 4',
  },
  oursPostgres: {
    name: 'this service, Postgres',
    light: '#0a7d5a',
    dark: '#3fb98f',
    shape: 'down',
    dash: '2 4',
  },
  nest: { name: 'Nest @Sse, Express', light: '#b4231f', dark: '#ff7b72', shape: 'plus' },
  nestFastify: { name: 'Nest @Sse, Fastify', light: '#b4231f', dark: '#ff7b72', shape: 'cross', dash: '7 4' },
  betterSse: { name: 'better-sse', light: '#9a5b00', dark: '#e3a63a', shape: 'ring', dash: '2 4' },
};

/** The outlines of the shapes around their middle. */
const SHAPES = {
  circle: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z',
  ring: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z',
  square: 'M-4-4h8v8h-8z',
  diamond: 'M0-5.5L5.5 0L0 5.5L-5.5 0z',
  up: 'M0-5.5L5 4H-5z',
  down: 'M0 5.5L5-4H-5z',
  plus: 'M-5 0H5M0-5V5',
  cross: 'M-4-4L4 4M4-4L-4 4',
};

const text = (value) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const round = (value) => Number(value.toFixed(1));

/**
 * @param rows the figures of the measure, by peer
 * @returns the text of an SVG
 */
export function growthChart(rows) {
  const lines = Object.entries(rows).map(([peer, figures]) => {
    const costs = GROWTH_RUNS.map((runs) => figures[withRuns(runs)]);
    return { peer, ...LINES[peer], costs, measured: costs.filter((cost) => cost !== undefined).length };
  });
  const ticks = ticksAround(lines.flatMap(({ costs }) => costs.filter((cost) => cost !== undefined)));
  const y = logarithmic([ticks[0], ticks.at(-1)], [PLOT.bottom, PLOT.top]);
  const x = logarithmic([GROWTH_RUNS[0], GROWTH_RUNS.at(-1)], [PLOT.left + INSET, PLOT.right - INSET]);
  const events = GROWTH_EVENTS.toLocaleString('en');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="title description">
<title id="title">The cost of an event as the number of open runs grows</title>
<desc id="description">${text(described(lines))}</desc>
<style>
${styles(lines)}
</style>
<rect class="ground" width="${WIDTH}" height="${HEIGHT}" rx="8"/>
<text class="heading" x="24" y="38">The cost of an event as the number of open runs grows</text>
<text class="quiet" x="24" y="62">All open runs together emit ${events} events a second. A flat line: an event costs the same, however many runs are open.</text>
${ticks.map((tick) => yTick(tick, y(tick))).join('\n')}
${GROWTH_RUNS.map((runs) => xTick(runs, x(runs))).join('\n')}
<text class="axis" transform="translate(24 ${(PLOT.top + PLOT.bottom) / 2}) rotate(-90)" text-anchor="middle">processor time of the server for an event, µs</text>
<text class="axis" x="${(PLOT.left + PLOT.right) / 2}" y="${PLOT.bottom + 54}" text-anchor="middle">open runs</text>
<text class="note" x="24" y="${HEIGHT - 16}">Lower is better. "file" and "Postgres": on Fastify, with the store there; what Postgres itself takes is not counted.</text>
${lines.map((line) => drawn(line, x, y)).join('\n')}
${labels(lines, x, y).join('\n')}
</svg>
`;
}

/** A scale that gives each factor the same length. */
function logarithmic([from, to], [start, end]) {
  return (value) => round(start + ((end - start) * Math.log(value / from)) / Math.log(to / from));
}

/** 1, 2 and 5 of each power of ten, from the last that is below all values to the first that is above. */
function ticksAround(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const ticks = [];
  for (let power = Math.floor(Math.log10(least)); 10 ** power <= 10 * most; power++) {
    ticks.push(...[1, 2, 5].map((digit) => digit * 10 ** power));
  }
  const first = ticks.findLastIndex((tick) => tick < least);
  return ticks.slice(Math.max(0, first), ticks.findIndex((tick) => tick > most) + 1);
}

const yTick = (value, y) =>
  `<path class="grid" d="M${PLOT.left} ${y}H${PLOT.right}"/><text class="tick" x="${PLOT.left - 10}" y="${y + 4.5}" text-anchor="end">${shown(value)}</text>`;

const xTick = (value, x) =>
  `<path class="grid" d="M${x} ${PLOT.top}V${PLOT.bottom}"/><text class="tick" x="${x}" y="${PLOT.bottom + 24}" text-anchor="middle">${value.toLocaleString('en')}</text>`;

function drawn({ peer, name, costs, measured, shape }, x, y) {
  if (measured === 0) return '';
  const points = costs.slice(0, measured).map((cost, i) => [x(GROWTH_RUNS[i]), y(cost)]);
  const shapes = points.map(
    ([left, top]) => `<path d="${SHAPES[shape]}" transform="translate(${left} ${top})"/>`,
  );
  return `<g class="line ${peer}"><title>${text(name)}</title><path class="path" d="M${points.map((point) => point.join(' ')).join('L')}"/><g class="${shape}">${shapes.join('')}</g></g>`;
}

/** The name of each line, beside its end or as near to it as others leave room for. */
function labels(lines, x, y) {
  const wanted = lines
    .map((line) => ({ ...line, end: line.measured ? y(line.costs[line.measured - 1]) : PLOT.bottom }))
    .sort((a, b) => a.end - b.end);
  const places = apart(wanted.map(({ end }) => end));
  return wanted.map(({ peer, name, shape, costs, measured, end }, i) => {
    const place = places[i];
    const start = measured ? x(GROWTH_RUNS[measured - 1]) : PLOT.right;
    const figure = lastFigure(costs, measured);
    const shapeAt = `<g class="line ${peer}"><path class="lead" d="M${start + 8} ${end}L${PLOT.right + 4} ${place}H${PLOT.right + 10}"/><g class="${shape}"><path d="${SHAPES[shape]}" transform="translate(${PLOT.right + 20} ${place})"/></g></g>`;
    return `${shapeAt}<text class="label" x="${PLOT.right + 34}" y="${place + 4.5}">${text(name)} <tspan class="figure" dx="4">${figure}</tspan></text>`;
  });
}

function lastFigure(costs, measured) {
  if (measured === 0) return 'no figure';
  if (measured < GROWTH_RUNS.length) return `only up to ${GROWTH_RUNS[measured - 1].toLocaleString('en')}`;
  return `${shown(costs[measured - 1])} µs`;
}

/** The nearest places, from above to below, that are at least the height of a label apart: neighbours share what they move. */
function apart(wanted) {
  const groups = [];
  for (const place of wanted) {
    groups.push({ sum: place, count: 1 });
    while (groups.length > 1) {
      const [above, below] = groups.slice(-2);
      const room = below.sum / below.count - above.sum / above.count;
      if (room >= (LABEL_HEIGHT * (above.count + below.count)) / 2) break;
      groups.splice(-2, 2, { sum: above.sum + below.sum, count: above.count + below.count });
    }
  }
  return groups.flatMap(({ sum, count }) =>
    Array.from({ length: count }, (_, i) => round(sum / count + LABEL_HEIGHT * (i - (count - 1) / 2))),
  );
}

function described(lines) {
  const figures = lines.map(({ name, costs }) => {
    const each = costs.map((cost) => (cost === undefined ? 'no figure' : shown(cost)));
    return `${name}: ${each.join(', ')}.`;
  });
  const runs = GROWTH_RUNS.map((count) => count.toLocaleString('en')).join(', ');
  return `Microseconds of the server's processor for an event, with ${runs} open runs. ${figures.join(' ')}`;
}

function styles(lines) {
  const colours = (scheme) => lines.map((line) => `.${line.peer} { color: ${line[scheme]} }`).join('\n');
  const dashes = lines.filter(({ dash }) => dash);
  return `text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: #1f2328 }
.heading { font-size: 20px; font-weight: 600 }
.quiet, .tick, .axis, .figure, .note { fill: #57606a }
.note { font-size: 13px }
.tick, .figure { font-variant-numeric: tabular-nums }
.ground { fill: #ffffff }
.grid { stroke: #e1e4e8; fill: none }
.line { stroke: currentColor; fill: currentColor; stroke-width: 1.5; stroke-linejoin: round }
.path { fill: none; stroke-width: 2.5 }
.lead { fill: none; stroke-width: 1; opacity: 0.5 }
.plus, .cross { stroke-width: 2.5; stroke-linecap: round }
.ring { fill: #ffffff; stroke-width: 2 }
${dashes.map(({ peer, dash }) => `.${peer} .path { stroke-dasharray: ${dash} }`).join('\n')}
${colours('light')}
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.quiet, .tick, .axis, .figure, .note { fill: #9aa4af }
.ground, .ring { fill: #0d1117 }
.grid { stroke: #2a313a }
${colours('dark')}
}`;
}
