/** sse.js with `autoReconnect`, and xhr2 as the XMLHttpRequest of a browser. */
import { createRequire } from 'node:module';
import { SSE } from 'sse.js';
import { bodyOf, headersOf, Reading } from './envelopes.mjs';

globalThis.XMLHttpRequest = createRequire(import.meta.url)('xhr2');

export default function create() {
  return {
    can: ['stream', 'files', 'sessions', 'abort', 'questions', 'usage'],
    ask(order) {
      const reading = new Reading(order);
      const { isSet } = order;
      const more = { Accept: 'text/event-stream', 'Idempotency-Key': crypto.randomUUID() };
      const source = new SSE(`${order.url}/query`, {
        headers: { ...headersOf(order), ...(isSet && more) },
        payload: bodyOf(order),
        autoReconnect: true,
        reconnectDelay: 1_000,
      });
      order.signal.addEventListener('abort', () => source.close());
      source.addEventListener('message', ({ data, lastEventId }) => {
        if (reading.read(data, lastEventId) && isSet) source.close();
      });
      source.addEventListener('error', ({ data, responseCode }) => {
        if (!isSet || !(responseCode >= 400)) return;
        reading.fail(new Error(data || source.xhr.responseText));
        source.close();
      });
      return reading.told;
    },
  };
}
