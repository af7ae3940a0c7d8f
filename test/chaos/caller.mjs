import { setTimeout as delay } from 'node:timers/promises';

/** How long a caller waits for anything, in milliseconds. */
export const BOUND_MS = 30_000;
/** The pause before a request is sent again. It is shorter than `Retry-After` asks for, so that a program takes less time. */
const PAUSE_MS = 50;

/** A caller of the service, who follows the rules of docs/http.md ("For authors of clients"). */
export class Caller {
  /**
   * @param url the URL of the endpoint
   * @param check called with a condition that must hold, and with what is wrong if it does not
   */
  constructor(url, check) {
    this.url = url;
    this.check = check;
  }

  /** Sends a request until its answer is not 503. */
  async send(path, { method = 'GET', headers = {}, body } = {}) {
    const until = Date.now() + BOUND_MS;
    for (;;) {
      const response = await fetch(`${this.url}${path}`, {
        method,
        // A connection of its own: the service may close one that was kept just when it is used again.
        headers: { accept: 'text/event-stream', connection: 'close', ...headers },
        body,
        signal: AbortSignal.timeout(BOUND_MS),
      });
      const { status } = response;
      if (status < 500) return response;
      const problem = await response.text();
      const isRefusal = (status === 503 || status === 507) && response.headers.has('retry-after');
      this.check(isRefusal, `${method} ${path} answers ${status}: ${problem}`);
      if (Date.now() > until) throw new Error(`${method} ${path} is still refused after ${BOUND_MS} ms`);
      await delay(PAUSE_MS);
    }
  }

  /**
   * Sends a query and reads its stream to the end. Resumes where the stream is cut.
   *
   * @param onEvent called with the run after each event; a promise delays the reading
   */
  async ask({ text, parts = [], kwargs = {}, key }, onEvent = () => undefined) {
    const response = await this.send('', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
      body: JSON.stringify({ parts: [{ type: 'text', text }, ...parts], kwargs }),
    });
    const run = {
      id: response.headers.get('content-location')?.split('/').at(-1),
      text,
      kwargs,
      received: [],
    };
    this.check(response.status === 200, `the query ${text} answers ${response.status}`);
    await this.#read(response, run, onEvent);
    await this.resume(run, onEvent);
    return run;
  }

  /** Follows a run from its beginning to its end. */
  async follow(id) {
    const run = { id, received: [] };
    await this.resume(run);
    return run.received;
  }

  /** Reads what is left of a run. */
  async resume(run, onEvent = () => undefined) {
    const until = Date.now() + BOUND_MS;
    while (!isDone(run.received.at(-1))) {
      if (Date.now() > until) throw new Error(`the run ${run.id} has no end after ${BOUND_MS} ms`);
      const response = await this.send(`/${run.id}?after=${run.received.length}`);
      if (response.status !== 200) throw new Error(`the run ${run.id} answers ${response.status}`);
      const before = run.received.length;
      await this.#read(response, run, onEvent);
      if (run.received.length === before) await delay(PAUSE_MS);
    }
  }

  async #read(response, run, onEvent) {
    try {
      for await (const { seq, data } of eventsOf(response)) {
        this.check(seq === run.received.length + 1, `run ${run.id}: ${seq} follows ${run.received.length}`);
        run.received.push(data);
        await onEvent(run);
      }
    } catch (error) {
      // A stream that is cut can be resumed. One that stands still is a defect.
      if (error.name === 'TimeoutError')
        throw new Error(`the stream of ${run.id} stands still`, { cause: error });
    }
  }
}

export function isDone(data) {
  return data !== undefined && JSON.parse(data).type === 'done';
}

/** The complete events of a stream in the full profile. */
export async function* eventsOf(response) {
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const frames = text.split('\n\n');
    text = frames.pop();
    for (const frame of frames) {
      const id = /^id: (.*)$/m.exec(frame)?.[1];
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (id && data) yield { seq: Number(id.split('.').at(-1)), data };
    }
  }
}
