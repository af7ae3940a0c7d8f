import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** How long the last webhooks may take, in milliseconds: a try that was cut is repeated after some seconds. */
const DEADLINE_MS = 60_000;

/**
 * Receives the webhooks of the service. Answers the tries of each with the `metadata.statuses` of its run, one after the other, and
 * then with 204.
 *
 * @returns the URL; how many have arrived; and `faultsOf`, which compares them with the runs of a service
 */
export async function receiveWebhooks() {
  /** By the ids of their runs, in the order of their arrival. */
  const told = new Map();
  /** The runs that were right. */
  const verified = new Set();
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const { type, data } = JSON.parse(body);
    const id = request.headers['webhook-id'];
    const all = told.get(data.run.id) ?? [];
    const statuses = data.run.metadata?.statuses?.split(' ') ?? [];
    const tries = all.filter((each) => each.id === id).length;
    told.set(data.run.id, [...all, { id, body, type, ...data }]);
    response.writeHead(Number(statuses[tries]) || 204).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');

  /**
   * Waits for the webhooks of all runs. Returns a sentence for each that has not come, and each that tells something else.
   *
   * @param nudge called with the id of a run whose webhooks are not there yet
   */
  async function faultsOf(url, nudge = () => undefined) {
    const until = performance.now() + DEADLINE_MS;
    const faults = [];
    const runs = await allRuns(url, verified);
    for (const { id } of runs) {
      for (;;) {
        const expected = await eventsOf(url, id);
        const found = faultOf(expected, told.get(id) ?? []);
        if (found === undefined) break;
        if (found.isFinal || performance.now() > until) {
          faults.push(`run ${id} ${found.fault}`);
          break;
        }
        await nudge(id);
        await delay(50);
      }
      verified.add(id);
    }
    for (const [id, all] of told) {
      if (verified.has(id)) continue;
      // It was erased, or never was.
      const response = await fetch(`${url}/${id}`, { headers: { accept: 'application/json' } });
      if (response.status !== 404) faults.push(`run ${id} is in no list: ${all[0].body}`);
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

/** What the store knows of a run: its JSON, and the events that it has had, in their order. */
async function eventsOf(url, id) {
  const get = async (path) => {
    const response = await fetch(`${url}/${id}${path}`, { headers: { accept: 'application/json' } });
    if (!response.ok) throw new Error(`run ${id}${path} answers ${response.status}`);
    return response.json();
  };
  const run = await get('');
  const { inputs } = await get('/inputs');
  const asked = inputs.map((input) => `run.input_required ${input.id}`);
  const isEnded = run.endedAt !== null;
  return { run: JSON.stringify(run), isEnded, events: [...asked, ...(isEnded ? [`run.${run.status}`] : [])] };
}

/** What is wrong, and whether it stays wrong; undefined if nothing is. */
function faultOf({ run, isEnded, events }, all) {
  const wrong = (fault) => ({ isFinal: true, fault });
  const bodies = new Map();
  let last = 0;
  for (const { id, body, type, run: then, inputs } of all) {
    const event = [type, ...(inputs ?? [])].join(' ');
    if (isEnded && !events.includes(event)) return wrong(`has no event ${event}: ${events}`);
    if (isEnded && type !== 'run.input_required' && JSON.stringify(then) !== run)
      return wrong(`is ${run}, not ${body}`);
    if ((bodies.get(id) ?? body) !== body) return wrong(`has two bodies of ${id}`);
    bodies.set(id, body);
    const number = events.indexOf(event);
    if (isEnded && number < last) return wrong(`has ${event} after ${events[last]}`);
    last = Math.max(last, number);
  }
  const come = new Set(all.map(({ type, inputs }) => [type, ...(inputs ?? [])].join(' ')));
  if (bodies.size !== come.size) return wrong(`has ${bodies.size} webhooks for ${[...come]}`);
  const missing = events.filter((event) => !come.has(event));
  const isMoving = !isEnded && events.length === 0;
  if (missing.length === 0 && !isMoving) return undefined;
  return { isFinal: false, fault: isMoving ? 'does not end' : `has no webhook of ${missing}` };
}

/** The runs that are not known yet; newest first. */
async function allRuns(url, known) {
  const all = [];
  for (let after; after !== null;) {
    const response = await fetch(`${url}?limit=500${after ? `&after=${after}` : ''}`);
    const { runs, next } = await response.json();
    const added = runs.filter(({ id }) => !known.has(id));
    all.push(...added);
    after = added.length < runs.length ? null : next;
  }
  return all;
}
