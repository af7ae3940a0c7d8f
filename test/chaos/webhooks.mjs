import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** How long the last webhooks may take, in milliseconds: a try that was cut is repeated after some seconds. */
const DEADLINE_MS = 60_000;

/**
 * Receives the webhooks of the service, and answers each.
 *
 * @returns the URL; how many have arrived; and `faultsOf`, which compares them with all runs of a service, which have ended
 */
export async function receiveWebhooks() {
  /** The runs that webhooks have told, by their ids. */
  const told = new Map();
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { type, data } = JSON.parse(Buffer.concat(chunks));
    told.set(data.run.id, [...(told.get(data.run.id) ?? []), { type, run: JSON.stringify(data.run) }]);
    response.writeHead(204).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');

  /** Waits for the webhooks of all runs. Returns a sentence for each that has not come, and each that tells something else. */
  async function faultsOf(url) {
    const until = performance.now() + DEADLINE_MS;
    const runs = await allRuns(url);
    const faults = [];
    for (const run of runs) {
      while (!told.has(run.id) && performance.now() < until) await delay(50);
      if (!told.has(run.id)) faults.push(`run ${run.id} has no webhook`);
    }
    const known = new Map(
      runs.map((run) => [run.id, { type: `run.${run.status}`, run: JSON.stringify(run) }]),
    );
    for (const [id, all] of told) {
      const { type, run } = known.get(id) ?? {};
      if (all.some((each) => each.type !== type || each.run !== run))
        faults.push(`a webhook of run ${id} tells ${JSON.stringify(all)}, not ${run}`);
    }
    return faults;
  }

  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    count: () => [...told.values()].flat().length,
    faultsOf,
    close: () => server.close().closeAllConnections(),
  };
}

async function allRuns(url) {
  const all = [];
  for (let after; after !== null;) {
    const response = await fetch(`${url}?limit=500${after ? `&after=${after}` : ''}`);
    const { runs, next } = await response.json();
    all.push(...runs);
    after = next;
  }
  return all;
}
