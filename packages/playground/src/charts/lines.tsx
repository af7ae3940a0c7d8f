import type { TargetedPointerEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Measure } from './chart-data.js';
import { dateMarks, numberMarks, roundLimits, scaleOf } from './scale.js';

/** In pixels. */
const HEIGHT = 220;
const EDGES = { top: 8, right: 18, bottom: 26 };
const BETWEEN_DATES = 85;
const CHARACTER = 7;

/** About so many numbers stand at a scale. */
const MARKS = 4;

interface Props {
  /** Ascending. */
  times: number[];
  labels: string[];
  measures: Measure[];
}

/** Lines over dates. A pointer and the arrow keys choose a date, whose numbers are shown as a text. */
export function Lines({ times, labels, measures }: Props) {
  const [chosen, setChosen] = useState(times.length - 1);
  const at = Math.min(chosen, times.length - 1);
  const said = `${labels[at]}: ${measures.map(({ name, texts }) => `${name} ${texts[at] || 'none'}`).join(', ')}`;
  const onKeyDown = (event: KeyboardEvent) => {
    const next = stepOf(event.key, at, times.length - 1);
    if (next === undefined) return;
    event.preventDefault();
    setChosen(next);
  };
  return (
    <>
      <div
        class="plot"
        role="slider"
        tabindex={0}
        aria-label={`Row of ${measures.map(({ name }) => name).join(', ')}`}
        aria-valuemin={1}
        aria-valuemax={times.length}
        aria-valuenow={at + 1}
        aria-valuetext={said}
        onKeyDown={onKeyDown}
      >
        <Plot times={times} measures={measures} at={at} onChoose={setChosen} />
      </div>
      <p class="quiet">{said}</p>
    </>
  );
}

interface PlotProps {
  times: number[];
  measures: Measure[];
  /** The place of the row that is chosen. */
  at: number;
  onChoose: (at: number) => void;
}

function Plot({ times, measures, at, onChoose }: PlotProps) {
  const svg = useRef<SVGSVGElement>(null);
  const width = useWidth(svg);
  const { before, after } = measures[0]!;
  const ys = scaleOf(limitsOf(measures), HEIGHT - EDGES.bottom, EDGES.top);
  const numbers = numberMarks(ys, MARKS).map(({ value, name }) => ({
    value,
    name: `${before}${name}${after && ` ${after}`}`,
  }));
  const left = Math.max(...numbers.map(({ name }) => name.length)) * CHARACTER + 14;
  const right = Math.max(width - EDGES.right, left + 1);
  const xs = scaleOf([times[0]!, times.at(-1)!], left, right);
  const [x, y] = [xs.placeOf, ys.placeOf];
  const dates = dateMarks(xs, Math.max(2, Math.floor((right - left) / BETWEEN_DATES)));
  const choose = ({ clientX, currentTarget }: TargetedPointerEvent<SVGElement>) =>
    onChoose(nearest(times.map(x), clientX - currentTarget.getBoundingClientRect().left));
  return (
    <svg ref={svg} height={HEIGHT} aria-hidden="true" onPointerMove={choose} onPointerDown={choose}>
      {numbers.map(({ value, name }) => (
        <g key={value}>
          <line class={value === 0 ? 'zero' : 'grid'} x1={left} x2={right} y1={y(value)} y2={y(value)} />
          <text class="mark" x={left - 8} y={y(value)} dy="0.32em" text-anchor="end">
            {name}
          </text>
        </g>
      ))}
      {dates.map(({ value, name }) => (
        <text key={value} class="mark" x={x(value)} y={HEIGHT - 6} text-anchor="middle">
          {name}
        </text>
      ))}
      <line class="chosen" x1={x(times[at]!)} x2={x(times[at]!)} y1={EDGES.top} y2={HEIGHT - EDGES.bottom} />
      {measures.map(({ values }, index) => (
        <g key={index} class={`series-${index}`}>
          <path d={pathOf(values, times, x, y)} />
          {values[at] !== undefined && <circle cx={x(times[at]!)} cy={y(values[at])} r={4} />}
        </g>
      ))}
    </svg>
  );
}

/** The width of an element while it changes, in pixels. */
function useWidth(element: { current: Element | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const { current } = element;
    if (!current) return;
    setWidth(current.clientWidth);
    const observer = new ResizeObserver(() => setWidth(current.clientWidth));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** The limits of the scale. It begins at zero, unless that would hide how the numbers change. */
function limitsOf(measures: Measure[]): [number, number] {
  const all = measures.flatMap(({ values }) => values.filter((value) => value !== undefined));
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const hasZero = low === high || (low > 0 && low < high / 2) || (high < 0 && high > low / 2);
  return hasZero ? roundLimits(Math.min(0, low), Math.max(0, high), MARKS) : roundLimits(low, high, MARKS);
}

/** A line through the values. Where one is missing, there is a gap. */
function pathOf(
  values: Measure['values'],
  times: number[],
  x: (time: number) => number,
  y: (value: number) => number,
): string {
  return values
    .map((value, at) => {
      if (value === undefined) return '';
      const command = values[at - 1] === undefined ? 'M' : 'L';
      const point = `${x(times[at]!).toFixed(1)} ${y(value).toFixed(1)}`;
      // A single value between gaps is a point.
      return `${command}${point}${command === 'M' ? 'h0' : ''}`;
    })
    .join('');
}

function nearest(places: number[], place: number): number {
  return places.reduce(
    (best, each, at) => (Math.abs(each - place) < Math.abs(places[best]! - place) ? at : best),
    0,
  );
}

/** @returns undefined if the key does not move */
function stepOf(key: string, at: number, last: number): number | undefined {
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return Math.max(0, at - 1);
    case 'ArrowRight':
    case 'ArrowUp':
      return Math.min(last, at + 1);
    case 'Home':
      return 0;
    case 'End':
      return last;
  }
}
