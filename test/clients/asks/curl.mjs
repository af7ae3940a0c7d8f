/** curl, with the end of its process as its error. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { bodyOf, headersOf, Reading } from './envelopes.mjs';

export default function create() {
  return {
    can: ['stream', 'files', 'abort', 'usage'],
    async ask(order) {
      const reading = new Reading(order);
      const headers = Object.entries(headersOf(order)).flatMap(([name, value]) => [
        '-H',
        `${name}: ${value}`,
      ]);
      const parameters = ['-N', '-sS', ...headers, '--data-binary', '@-', `${order.url}/query`];
      const { signal } = order;
      const child = spawn('curl', parameters, { stdio: 'pipe', signal });
      child.on('error', () => undefined);
      child.stdin.on('error', () => undefined).end(bodyOf(order));
      let said = '';
      child.stderr.on('data', (chunk) => (said += chunk));
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (line.startsWith('data: ')) reading.read(line.slice('data: '.length));
        else if (line) said += line;
      });
      void once(child, 'close').then(([code]) =>
        code === 0 && !said ? reading.end() : reading.fail(new Error(said)),
      );
      return reading.told;
    },
  };
}
