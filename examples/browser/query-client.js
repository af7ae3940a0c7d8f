/**
 * A client of the endpoint, for browsers and for Node: asks, reads the stream, resumes it after a lost connection, and
 * cancels. Nothing but `fetch`.
 */

/** How long to wait before the first `retry:` of the service, in milliseconds. */
const RETRY_MS = 1000;

/** The endpoint refused. `code` says why: see docs/http.md. */
export class Refused extends Error {
  /** @param {{ status: number, code?: string, detail?: string }} problem */
  constructor({ status, code, detail }) {
    super(detail ?? `The service answered ${status}.`);
    this.status = status;
    this.code = code;
  }
}

/**
 * Sends a query and follows its run to the end, over as many connections as that takes.
 *
 * @param {string | URL} endpoint such as `/query`
 * @param {{ parts: object[], kwargs?: object }} query
 * @param {object} on
 * @param {(envelope: { type: string, data: any }) => void} on.envelope called for each envelope, in order, `done` included
 * @param {(run: string) => void} [on.run] called with the address of the run as soon as it is known
 * @param {(error: Error) => void} [on.lost] called when a connection is lost, before the next one is tried
 * @returns {Promise<{ status: string, error?: object }>} what `done` says
 * @throws {Refused} if the endpoint refuses the query, or can no longer resume the run
 */
export async function ask(endpoint, query, on) {
  const state = { run: undefined, lastId: undefined, retryMs: RETRY_MS, end: undefined };
  const key = crypto.randomUUID();
  for (;;) {
    try {
      const response = state.run ? await follow(state) : await send(endpoint, query, key);
      if (response.status === 204) return state.end;
      if (!state.run) {
        state.run = new URL(response.headers.get('Content-Location'), response.url).href;
        on.run?.(state.run);
      }
      await read(response.body, state, on.envelope);
      if (state.end) return state.end;
      on.lost?.(new Error('The stream stopped before its end.'));
    } catch (error) {
      if (error instanceof Refused) throw error;
      on.lost?.(error);
    }
    await new Promise((resolve) => setTimeout(resolve, state.retryMs));
  }
}

/**
 * Cancels a run.
 *
 * @param {string} run its address, as `on.run` was told
 * @returns {Promise<object>} the run, as JSON
 * @throws {Refused} if there is no such run
 */
export async function cancel(run) {
  const response = await accepted(await fetch(run, { method: 'DELETE' }));
  return response.json();
}

/** The same key with each try: a query that arrived, although its answer did not, starts no second run. */
async function send(endpoint, query, key) {
  const headers = {
    Accept: 'text/event-stream',
    'Content-Type': 'application/json',
    'Idempotency-Key': key,
  };
  for (;;) {
    const response = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(query) });
    const seconds = Number(response.headers.get('Retry-After'));
    if (![429, 503].includes(response.status) || !seconds) return accepted(response);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

/** Continues after the last event that was read. */
async function follow({ run, lastId }) {
  const headers = { Accept: 'text/event-stream', ...(lastId && { 'Last-Event-ID': lastId }) };
  return accepted(await fetch(run, { headers }));
}

async function accepted(response) {
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new Refused({ ...problem, status: response.status });
}

/** Reads events until the stream stops, and keeps in `state` what a resume needs. */
async function read(body, state, onEnvelope) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    // An event without its blank line was cut. It comes again.
    if (done) return;
    const events = (text + value).split('\n\n');
    text = events.pop();
    for (const event of events) take(event, state, onEnvelope);
  }
}

function take(event, state, onEnvelope) {
  for (const line of event.split('\n')) {
    const [, field, value] = /^(\w+): (.*)$/.exec(line) ?? [];
    if (field === 'retry') state.retryMs = Number(value);
    if (field === 'id') state.lastId = value;
    if (field !== 'data') continue;
    const envelope = JSON.parse(value);
    if (envelope.type === 'done') state.end = envelope.data;
    onEnvelope(envelope);
  }
}
