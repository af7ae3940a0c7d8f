/**
 * Readers with the interface of EventSource. They follow a run by its path; with `method` POST they send the query each
 * time. As their READMEs say, nothing closes them; when set, they are closed at `done`.
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
    can: ['stream', 'sessions', 'abort', 'questions', 'usage', ...(method === 'POST' ? ['files'] : [])],
    async ask(order) {
      const path = method === 'POST' ? '/query' : await submitted(order);
      const reading = new Reading(order);
      const { isSet, signal } = order;
      const isOneRun = isSet && method === 'POST';
      const headers = { ...headersOf(order), ...(isOneRun && { 'Idempotency-Key': crypto.randomUUID() }) };
      const body = method === 'POST' ? { method, body: bodyOf(order) } : {};
      const source = make(`${order.url}${path}`, { headers, ...body });
      signal.addEventListener('abort', () => source.close());
      source.onmessage = ({ data, lastEventId }) => {
        const isOver = reading.read(data, lastEventId || path);
        if (isOver && isSet) source.close();
      };
      source.onerror = (error) => {
        // Some tell the error before they are closed.
        setImmediate(() => {
          if (source.readyState === 2) reading.fail(new Error(error?.message ?? 'closed'));
        });
      };
      return reading.told;
    },
  };
}
