import { Store } from '../state/store.js';

type TableChart = typeof import('../charts/table-chart.js').TableChart;

let component: TableChart | undefined;
let loading: Promise<void> | undefined;

/** Changes when the switch from tables to charts is there. It is loaded with the first table that is shown. */
class TableCharts extends Store {
  /** Undefined while it is loaded, and if it cannot be. */
  get component(): TableChart | undefined {
    if (!component) loading ??= load();
    return component;
  }
}

export const tableCharts = new TableCharts();

async function load(): Promise<void> {
  // Without charts, tables can be read too.
  component = (await import('../charts/table-chart.js').catch(() => undefined))?.TableChart;
  tableCharts.changed();
}
