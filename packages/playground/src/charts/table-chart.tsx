import type { ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { keepInTab, keptInTab, removeFromTab } from '../state/tab-storage.js';
import { type ChartData, chartOf } from './chart-data.js';

interface Props {
  /** The HTML of the table in its frame. */
  html: string;
  /** Where the table is: the choice of the user is kept for it, over reloads. */
  place: string;
  /** Is told whether the chart is shown in place of the table. */
  onChart: (isShown: boolean) => void;
}

/** A switch from a table to its chart, where it has one, and the chart. */
export function TableChart({ html, place, onChart }: Props) {
  const data = useMemo(() => chartOf(textsIn(html)), [html]);
  const kept = `chart ${place}`;
  const [isChosen, setChosen] = useState(keptInTab(kept) !== undefined);
  const isChart = isChosen && data !== undefined;
  useLayoutEffect(() => onChart(isChart), [isChart]);
  const choose = (isNow: boolean) => {
    setChosen(isNow);
    if (isNow) keepInTab(kept, 'shown');
    else removeFromTab(kept);
  };
  if (!data) return null;
  return (
    <>
      <div class="views as" role="group" aria-label="Show as">
        <button type="button" aria-pressed={!isChart} onClick={() => choose(false)}>
          Table
        </button>
        <button type="button" aria-pressed={isChart} onClick={() => choose(true)}>
          Chart
        </button>
      </div>
      {isChart && <LoadedChart data={data} />}
    </>
  );
}

let Loaded: ComponentType<{ data: ChartData }> | undefined;

/** What draws charts is loaded with the first one. A browser does not load again what it could not load. */
function LoadedChart({ data }: { data: ChartData }) {
  const [state, setState] = useState<'loading' | 'ready' | 'failed'>(Loaded ? 'ready' : 'loading');
  useEffect(() => {
    if (Loaded) return;
    import('./chart-view.js').then(
      ({ ChartView }) => {
        Loaded = ChartView;
        setState('ready');
      },
      () => setState('failed'),
    );
  }, []);
  if (state === 'failed') {
    return (
      <p class="fault" role="alert">
        The chart cannot be loaded. Load the page again to try once more.
      </p>
    );
  }
  return Loaded ? <Loaded data={data} /> : <p class="quiet">Loading…</p>;
}

/** The texts of the cells of a table, row by row. A cell over several columns has no text: its row is shorter than the others. */
function textsIn(html: string): string[][] {
  const { content } = Object.assign(document.createElement('template'), { innerHTML: html });
  const frame = content.firstElementChild;
  const [table, ...others] = content.querySelectorAll('table');
  if (!table || others.length > 0 || content.textContent.trim() !== frame?.textContent?.trim()) return [];
  return Array.from(table.rows, ({ cells }) =>
    Array.from(cells, ({ textContent, colSpan, rowSpan }) =>
      colSpan > 1 || rowSpan > 1 ? [] : [textContent.trim()],
    ).flat(),
  );
}
