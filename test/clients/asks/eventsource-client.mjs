/** eventsource-client: `createEventSource` with its callbacks. */
import { createEventSource } from 'eventsource-client';
import { bodyOf, headersOf, Reading } from './envelopes.mjs';

export default function create() {
  return {
    can: ['stream', 'files', 'sessions', 'abort', 'questions', 'usage'],
    ask(order) {
      const reading = new Reading(order);
      const source = createEventSource({
        url: `${order.url}/query`,
        method: 'POST',
        headers: { ...headersOf(order), ...(order.isSet && { 'Idempotency-Key': crypto.randomUUID() }) },
        body: bodyOf(order),
        fetch: order.isSet ? fetchOnceRefused(reading) : fetch,
        onMessage: ({ data, id }) => {
          if (reading.read(data, id) && order.isSet) source.close();
        },
      });
      order.signal.addEventListener('abort', () => source.close());
      function fetchOnceRefused() {
        return async (url, init) => {
          const response = await fetch(url, init);
          if (response.ok) return response;
          const { detail } = await response.clone().json();
          source.close();
          reading.fail(new Error(detail));
          return response;
        };
      }
      return reading.told;
    },
  };
}
