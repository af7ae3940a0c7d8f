/** What a program does that reads the stream of the endpoint with a reader of others. */

/** The body of a query. */
export function bodyOf({ text, files, session }) {
  const parts = files.map((file) => ({ type: 'file', ...file }));
  const kwargs = session && { kwargs: { session_id: session } };
  return JSON.stringify({ parts: [{ type: 'text', text }, ...parts], ...kwargs });
}

/** The headers of a query. */
export function headersOf({ key }) {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

/** Submits a query, for a reader that can only follow a run. Returns its path. */
export async function submitted(order) {
  const headers = { ...headersOf({ key: order.goodKey }), prefer: 'respond-async' };
  const response = await fetch(`${order.service}/query`, { method: 'POST', headers, body: bodyOf(order) });
  return response.headers.get('location');
}

/** One answer, envelope by envelope. */
export class Reading {
  /** Resolves with what was told, and rejects with the failure of the run. */
  told;
  #text = '';
  #usage;
  #order;
  #resolve;
  #reject;

  /** @param order what the module gets */
  constructor(order) {
    this.#order = order;
    this.told = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // The failure may come before anybody waits for it.
    this.told.catch(() => undefined);
  }

  /**
   * Reads the data of an event.
   *
   * @param run the id of the run or of the event, or the path of the run, where the reader knows it
   * @returns whether the run has ended
   */
  read(text, run) {
    if (!text) return false;
    const { type, data } = JSON.parse(text);
    if (type === 'message') {
      this.#text += data.content;
      this.#order.onText(data.content);
    }
    if (type === 'usage') this.#usage = [data.inputTokens, data.outputTokens];
    if (type === 'input_required' && this.#order.approve) void this.#approve(data.requests, run);
    if (type !== 'done') return false;
    if (data.status === 'completed') this.end();
    else this.fail(data.error ?? data.status);
    return true;
  }

  /** The reader says that there is no more. */
  end() {
    this.#resolve({ text: this.#text, usage: this.#usage });
  }

  /** The reader says that it cannot go on. */
  fail(error) {
    this.#reject(error);
  }

  async #approve(requests, run = '') {
    const runId = run
      .split('/')
      .at(-1)
      .replace(/\.\d+$/, '');
    const answers = requests.map(({ id }) => ({ id, outcome: 'answered', value: { approved: true } }));
    await fetch(`${this.#order.service}/query/${runId}/inputs`, {
      method: 'POST',
      headers: headersOf({ key: this.#order.goodKey }),
      body: JSON.stringify({ answers }),
    });
  }
}
