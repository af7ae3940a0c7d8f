/**
 * Readers with the interface of EventSource. They follow a run by its path; with `method` POST, a `fetch` of the caller sends the
 * query each time. As they are used everywhere, nothing closes them; when set, they are closed at `done`.
 */
import { bodyOf, headersOf, Reading, submitted } from './envelopes.mjs';
import { MAKERS } from './event-sources.mjs';

/**
 * @param maker one of `MAKERS`
 * @param packageName what it gets
 */
export default async function create({ maker, packageName, method }) {
  const make = await MAKERS[maker](packageName);
  return {
    can: ['stream', 'abort', 'questions', 'usage', ...(method === 'POST' ? ['files'] : [])],
    async ask(order) {
      const path = method === 'POST' ? '/query' : await submitted(order);
      const reading = new Reading(order);
      const headers = headersOf(order);
      const body = method === 'POST' ? { method, body: bodyOf(order) } : {};
      const source = make(`${order.url}${path}`, { headers, ...body }, order.isSet);
      order.signal.addEventListener('abort', () => source.close());
      source.onmessage = ({ data, lastEventId }) => {
        const isOver = reading.read(data, lastEventId || path);
        if (isOver && order.isSet) source.close();
      };
      source.onerror = (error) => {
        if (source.readyState === 2)
          reading.fail(error.message ?? String(error.code ?? error.status ?? 'error'));
      };
      return reading.told;
    },
  };
}
