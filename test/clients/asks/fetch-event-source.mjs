/** @microsoft/fetch-event-source, with the parts of a browser that it needs. */
import { bodyOf, headersOf, Reading } from './envelopes.mjs';

const page = { hidden: false, addEventListener: () => undefined, removeEventListener: () => undefined };
Object.assign(globalThis, { document: page, window: globalThis });
const { fetchEventSource } = await import('@microsoft/fetch-event-source');

export default function create() {
  return {
    can: ['stream', 'files', 'sessions', 'abort', 'questions', 'usage'],
    ask(order) {
      const reading = new Reading(order);
      const { signal, isSet } = order;
      const reads = fetchEventSource(`${order.url}/query`, {
        method: 'POST',
        headers: { ...headersOf(order), ...(isSet && { 'Idempotency-Key': crypto.randomUUID() }) },
        body: bodyOf(order),
        signal,
        onmessage: ({ data, id }) => void reading.read(data, id),
        ...(isSet && { onopen: refuse, onerror: giveUp }),
      });
      reads.then(
        () => reading.end(),
        (error) => reading.fail(error),
      );
      return reading.told;
    },
  };
}

/** What was refused is not tried again. */
async function refuse(response) {
  if (!response.ok) throw Object.assign(new Error((await response.json()).detail), { isRefusal: true });
}

function giveUp(error) {
  if (error.isRefusal) throw error;
}
