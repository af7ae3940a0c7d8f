/** Readers of the response of `fetch`: fetch-event-stream and parse-sse. */
import { bodyOf, headersOf, Reading } from './envelopes.mjs';

const READERS = {
  async 'fetch-event-stream'() {
    const { stream } = await import('fetch-event-stream');
    return stream;
  },

  async 'parse-sse'() {
    const { parseServerSentEvents } = await import('parse-sse');
    return async (url, init, isSet) => {
      const response = await fetch(url, init);
      if (isSet && !response.ok) throw new Error((await response.json()).detail);
      return parseServerSentEvents(response);
    };
  },
};

export default async function create({ reader }) {
  const read = await READERS[reader]();
  return {
    can: ['stream', 'files', 'sessions', 'abort', 'questions', 'usage'],
    async ask(order) {
      const reading = new Reading(order);
      const { signal, isSet } = order;
      const headers = { ...headersOf(order), accept: 'text/event-stream' };
      const init = { method: 'POST', headers, body: bodyOf(order), signal };
      const events = await read(`${order.url}/query`, init, isSet);
      let isOver = false;
      for await (const { data, id, lastEventId } of events)
        isOver = reading.read(data, String(id ?? lastEventId)) || isOver;
      if (isSet && !isOver) throw new Error('The stream has ended without `done`.');
      reading.end();
      return reading.told;
    },
  };
}
