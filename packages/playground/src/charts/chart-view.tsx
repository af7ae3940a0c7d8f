import '../styles/charts.css';
import type { ChartData, Measure } from './chart-data.js';
import { Lines } from './lines.js';
import { scaleOf } from './scale.js';

/** Draws what a table has: bars, or lines over dates. */
export function ChartView({ data }: { data: ChartData }) {
  const { scales, times, name, labels } = data;
  return (
    <figure class="chart">
      <figcaption class="unseen">{summaryOf(data)}</figcaption>
      {scales.map((measures, at) => (
        <section key={at}>
          <Legend measures={measures} />
          {times ? (
            <Lines times={times} labels={labels} measures={measures} />
          ) : (
            <Bars name={name} labels={labels} measures={measures} />
          )}
        </section>
      ))}
      <Notes data={data} />
    </figure>
  );
}

function Legend({ measures }: { measures: Measure[] }) {
  return (
    <ul class="legend">
      {measures.map(({ name }, at) => (
        <li key={at}>
          {measures.length > 1 && <i class={`sample series-${at}`} />}
          {name}
        </li>
      ))}
    </ul>
  );
}

/** Bars with their names and numbers as texts. They begin at zero, so that their lengths can be compared. */
function Bars({ name, labels, measures }: { name: string; labels: string[]; measures: Measure[] }) {
  const all = measures.flatMap(({ values }) => values.filter((value) => value !== undefined));
  const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)];
  const { placeOf: place } = scaleOf([low, high], 0, 100);
  const percent = (value: number) => `${place(value)}%`;
  const barOf = (value: number) => ({
    left: percent(Math.min(0, value)),
    width: `${place(Math.max(0, value)) - place(Math.min(0, value))}%`,
  });
  return (
    <ul class="bars" aria-label={name}>
      {labels.map((label, row) => (
        <li key={row}>
          <span class="of">{label}</span>
          {measures.map(({ values, texts }, at) => (
            <span key={at} class="bar">
              <span class="track" aria-hidden="true">
                {low < 0 && <i class="zero" style={{ left: percent(0) }} />}
                {values[row] !== undefined && <i class={`series-${at}`} style={barOf(values[row])} />}
              </span>
              {measures.length > 1 && <span class="unseen">{measures[at]!.name}: </span>}
              <span class="number">{texts[row] || '–'}</span>
            </span>
          ))}
        </li>
      ))}
    </ul>
  );
}

function Notes({ data: { labels, rows, total } }: { data: ChartData }) {
  const notes = [
    ...(rows > labels.length ? [`The first ${labels.length} of ${rows.toLocaleString('en')} rows.`] : []),
    ...(total === undefined ? [] : [`Without the row “${total}”.`]),
  ];
  return notes.length === 0 ? null : <p class="quiet">{notes.join(' ')}</p>;
}

/** What the chart says, for who does not see it. */
function summaryOf({ name, labels, times, scales }: ChartData): string {
  const measures = scales.flat();
  const names = measures.map((measure) => measure.name).join(', ');
  const extremes = measures.flatMap(({ name: of, values, texts }) => {
    const filled = values.filter((value) => value !== undefined);
    const said = (value: number) => {
      const at = values.indexOf(value);
      return `${texts[at]} (${labels[at]})`;
    };
    return filled.length === 0
      ? []
      : `${of}: highest ${said(Math.max(...filled))}, lowest ${said(Math.min(...filled))}.`;
  });
  const kind = times ? 'A line chart' : 'A bar chart';
  return `${kind} of ${names} by ${name}, ${labels.length} rows. ${extremes.join(' ')} The table has all numbers.`;
}
