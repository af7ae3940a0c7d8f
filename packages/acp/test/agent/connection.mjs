import { appendFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { is, valueOf } from './switches.mjs';

/** JSON-RPC, one message a line. */
export function connection(input, output) {
  const handlers = new Map();
  const waiting = new Map();
  let nextId = 0;

  const send = (message) => output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const wire = {
    on: (method, handler) => handlers.set(method, handler),
    notify: (method, params) => send({ method, params }),
    /** Resolves with `{ result }` or `{ error }`. */
    request: (method, params) => {
      const id = `ask-${nextId++}`;
      const answer = new Promise((resolve) => waiting.set(id, resolve));
      send({ id, method, params });
      return Object.assign(answer, { id });
    },
    raw: (line) => output.write(`${line}\n`),
    noise: (line) => output.write(`${line}\n`),
    log: (line) => writeSync(2, `${line}\n`),
    error: (code, message, data) => Object.assign(new Error(message), { code, data }),
    /** The answer never comes. */
    later: () => new Promise(() => undefined),
    drained: () => new Promise((resolve) => output.write('', resolve)),
  };

  const handle = async ({ id, method, params = {} }) => {
    const handler = handlers.get(method);
    if (id === undefined) return handler?.(params);
    if (!handler) return send({ id, error: { code: -32601, message: `Method not found: ${method}` } });
    try {
      send({ id, result: await handler(params) });
    } catch (error) {
      const { code = -32603, message, data } = error;
      send({ id, error: { code, message, ...(data !== undefined && { data }) } });
    }
  };

  const lines = createInterface({ input });
  lines.on('close', () => is('stays') || process.exit(0));
  lines.on('line', (line) => {
    if (is('records')) appendFileSync(valueOf('records'), `${line}\n`);
    const message = JSON.parse(line);
    if (message.method !== undefined) return void handle(message);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  // A reader that is gone ends the agent, unless it stays.
  output.on('error', () => is('stays') || process.exit(1));
  return wire;
}
