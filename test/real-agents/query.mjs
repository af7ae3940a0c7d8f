import { setTimeout as pause } from 'node:timers/promises';
import { OWNERS } from './service.mjs';

/** How long a condition may take: the slowest agent starts in 15 s. */
const WAIT_MS = 60_000;

/** A query that is followed to its end, over lost connections, questions and restarts of the service. */
export class FollowedQuery {
  id;
  envelopes = [];
  #service;
  #headers;

  static async start(service, text, { session, owner = 'anna' }) {
    const query = new FollowedQuery(service, owner);
    const body = JSON.stringify({ parts: [{ type: 'text', text }], kwargs: { session_id: session } });
    const headers = { 'content-type': 'application/json', prefer: 'respond-async' };
    query.id = (await query.#fetch('', { method: 'POST', body, headers })).id;
    void query.#follow();
    return query;
  }

  constructor(service, owner) {
    this.#service = service;
    this.#headers = { authorization: `Bearer ${OWNERS[owner]}` };
  }

  /** The envelopes of a type. */
  of(type) {
    return this.envelopes.filter((envelope) => envelope.type === type).map(({ data }) => data);
  }

  get text() {
    return this.of('message')
      .map(({ content }) => content)
      .join('');
  }

  get end() {
    return this.of('done')[0];
  }

  /** The requests that nobody has answered. */
  get open() {
    const answered = new Set(this.of('input_resolved').flatMap(({ answers }) => answers.map(({ id }) => id)));
    return this.of('input_required').flatMap(({ requests }) =>
      requests.filter(({ id }) => !answered.has(id)),
    );
  }

  /**
   * Waits until a function returns something.
   *
   * @throws Error with what was received, if it does not within the time
   */
  async until(condition, what, waitMs = WAIT_MS) {
    const latest = performance.now() + waitMs;
    while (performance.now() < latest) {
      const value = condition(this);
      if (value) return value;
      await pause(20);
    }
    throw new Error(
      `There is no ${what}. There is:\n${this.envelopes.map((one) => JSON.stringify(one)).join('\n')}`,
    );
  }

  /** Waits for questions, and answers each until the run ends. */
  async answerAll(approved) {
    await this.until(({ end, open }) => end ?? open.length > 0, 'question or end');
    while (!this.end) {
      for (const request of this.open) await this.answer(request, approved);
      await this.until(({ end, open }) => end ?? open.length > 0, 'question or end');
    }
  }

  /** Answers an approval, with further members, or chooses the first option of an input that a person would choose for it. */
  async answer({ id, kind, schema }, approved, further = {}) {
    const value =
      kind === 'approval' ? { approved, ...further } : schema.enum[approved ? 0 : schema.enum.length - 1];
    const body = JSON.stringify({ answers: [{ id, outcome: 'answered', value }] });
    await this.#fetch(`/${this.id}/inputs`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
    });
    await this.until(({ open }) => open.every((request) => request.id !== id), 'answer in the log');
  }

  /** Cancels the run. Returns the status code: 200 means that its handler has stopped. */
  async cancel() {
    const response = await this.#request(`/${this.id}`, { method: 'DELETE' });
    await response.body?.cancel();
    await this.until(({ end }) => end, 'end of a cancelled run');
    return response.status;
  }

  async #follow() {
    let last = '';
    while (!this.end && !this.#service.isOver) {
      try {
        const headers = { accept: 'text/event-stream', ...(last && { 'last-event-id': last }) };
        const response = await this.#request(`/${this.id}`, { headers });
        for await (const { id, data } of eventsOf(response.body)) {
          last = id;
          this.envelopes.push(JSON.parse(data));
        }
      } catch {
        // The service is killed and started again.
      }
      await pause(100);
    }
  }

  async #fetch(path, init) {
    const response = await this.#request(path, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${init.method} ${path} was answered with ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  #request(path, { headers, ...init } = {}) {
    const url = `${this.#service.url}/query${path}`;
    return fetch(url, {
      ...init,
      headers: { ...this.#headers, ...headers },
      signal: AbortSignal.timeout(WAIT_MS),
    });
  }
}

async function* eventsOf(body) {
  let text = '';
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const events = text.split('\n\n');
    text = events.pop();
    for (const event of events) {
      const fields = Object.fromEntries(event.split('\n').map((line) => line.split(/: ?(.*)/s)));
      if (fields.data !== undefined) yield { id: fields.id, data: fields.data };
    }
  }
}
