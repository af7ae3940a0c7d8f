/** `npm start`: builds what has changed, and is the service then. npm waits for this process, and passes its signals on. */
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import './index.mjs';

/**
 * A terminal and systemd send a signal to npm and to this process, and npm passes it on. What comes again within this time is the
 * same signal: the service ends at once at a second one.
 */
const SAME_SIGNAL_MS = 500;

const MAIN = new URL('../dist/main.js', import.meta.url);

const { emit } = process;
const arrived = { SIGINT: -Infinity, SIGTERM: -Infinity };
process.emit = function (name, ...values) {
  const before = arrived[name];
  if (before !== undefined) {
    arrived[name] = performance.now();
    if (arrived[name] - before < SAME_SIGNAL_MS) return true;
  }
  return Reflect.apply(emit, this, [name, ...values]);
};

process.argv[1] = fileURLToPath(MAIN);
await import(MAIN.href);
