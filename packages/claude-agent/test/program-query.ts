import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import type { ClaudeMessage, ClaudeQuery } from '../src/index.js';

interface Options {
  env: Record<string, string>;
  spawnClaudeCodeProcess: (request: {
    command: string;
    args: string[];
    env: Record<string, string>;
  }) => ChildProcess;
}

/** Ignores SIGTERM, says its id, and that of a child in a group of its own. */
const PROGRAM = `
const { spawn } = require('node:child_process');
process.on('SIGTERM', () => undefined);
const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
console.log(JSON.stringify([process.pid, child.pid]));
setInterval(() => undefined, 1000);
`;

/** `query` with a program that does not end by itself, and the processes that it has started. */
export function programQuery(): { query: ClaudeQuery; started: number[] } {
  const started: number[] = [];
  async function* messages({ env, spawnClaudeCodeProcess: start }: Options): AsyncGenerator<ClaudeMessage> {
    const child = start({ command: process.execPath, args: ['-e', PROGRAM], env });
    const [line] = (await once(child.stdout!, 'data')) as [Buffer];
    started.push(...(JSON.parse(line.toString()) as number[]));
    yield { type: 'assistant', message: { id: 'm', content: [{ type: 'text', text: 'Hello' }] } };
    yield { type: 'result', subtype: 'success', stop_reason: 'end_turn' };
  }
  const query: ClaudeQuery = ({ options }) =>
    Object.assign(messages(options as Options), { interrupt: () => Promise.resolve() });
  return { query, started };
}
