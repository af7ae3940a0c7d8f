/** curl, with the end of its process as its error. */
import { spawn } from 'node:child_process';
import { bodyOf, headersOf, Reading } from './envelopes.mjs';

export default function create() {
  return {
    can: ['stream', 'files', 'sessions', 'abort', 'usage'],
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
      let lines = '';
      child.stderr.on('data', (chunk) => (said += chunk));
      child.stdout.setEncoding('utf8').on('data', (chunk) => {
        const parts = `${lines}${chunk}`.split('\n');
        lines = parts.pop();
        for (const part of parts) if (part.startsWith('data: ')) reading.read(part.slice('data: '.length));
      });
      child.once('close', (code) => {
        if (code === 0 && lines === '') reading.end();
        else reading.fail(new Error(`${said}${lines}`));
      });
      return reading.told;
    },
  };
}
