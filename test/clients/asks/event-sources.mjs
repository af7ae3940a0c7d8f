/** How each package makes an EventSource: from a URL, and what `fetch` takes besides. */
import { createRequire } from 'node:module';

export const MAKERS = {
  /** eventsource: with a `fetch` of its own. */
  async eventsource(packageName) {
    const { EventSource } = await import(packageName);
    return (url, more) => new EventSource(url, { fetch: fetchWith(more) });
  },

  /** undici: a dispatcher sets the headers. */
  async undici() {
    const { Agent, EventSource } = await import('undici');
    return (url, { headers }) => {
      const dispatcher = new Agent().compose(
        (dispatch) => (options, handler) =>
          dispatch({ ...options, headers: { ...options.headers, ...headers } }, handler),
      );
      return new EventSource(url, { node: { dispatcher } });
    };
  },

  /** extended-eventsource takes what `fetch` takes. It writes each new request to the console. */
  async extended() {
    const { EventSource } = await import('extended-eventsource');
    return (url, more) => new EventSource(url, more);
  },

  /** launchdarkly-eventsource has options of its own for the same. */
  async launchdarkly() {
    const { EventSource } = createRequire(import.meta.url)('launchdarkly-eventsource');
    return (url, more) => new EventSource(url, more);
  },

  async polyfill() {
    const { EventSourcePolyfill } = createRequire(import.meta.url)('event-source-polyfill');
    return (url, { headers }) => new EventSourcePolyfill(url, { headers });
  },

  /** reconnecting-eventsource, around eventsource. */
  async reconnecting() {
    const { default: Reconnecting } = createRequire(import.meta.url)('reconnecting-eventsource');
    const { EventSource } = await import('eventsource');
    return (url, more) => {
      class WithHeaders extends EventSource {
        constructor(address) {
          super(address, { fetch: fetchWith(more) });
        }
      }
      return new Reconnecting(url, { eventSourceClass: WithHeaders });
    };
  },
};

function fetchWith({ headers, ...more }) {
  return (input, init) => fetch(input, { ...init, ...more, headers: { ...init.headers, ...headers } });
}
