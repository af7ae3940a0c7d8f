import { get } from './client.js';

/** Series by their names and labels, as the text format has them: `name{label="value"}`. Buckets are left out. */
export type Series = Record<string, number>;

/** Reads the text format of Prometheus. */
export function seriesOf(text: string): Series {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const series = lines.map((line): [string, number] => {
    const space = line.lastIndexOf(' ');
    return [line.slice(0, space), Number(line.slice(space + 1))];
  });
  return Object.fromEntries(series.filter(([name]) => !name.includes('_bucket{')));
}

/** The metrics of a host that are not 0, without those of the process; their prefix `agent_query_` is left out. */
export async function scrape(base: string, path = '/metrics'): Promise<Series> {
  const reply = await get(base, path);
  if (reply.status !== 200) throw new Error(`The metrics are answered with ${reply.status}.`);
  const own = Object.entries(seriesOf(await reply.whole())).filter(
    ([name, value]) => name.startsWith('agent_query_') && value !== 0,
  );
  return Object.fromEntries(own.map(([name, value]) => [name.slice('agent_query_'.length), value]));
}
