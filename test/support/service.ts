import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

const MAIN = resolve(import.meta.dirname, '../../dist/main.js');

/** The standalone service in a process of its own. */
export interface Service {
  url: string;
  /** What it has printed so far. */
  output: () => string;
  process: ChildProcess;
  /** Sends SIGTERM and resolves with the signal that ended it, or its exit code. */
  stop(): Promise<NodeJS.Signals | number | null>;
}

/** Starts `dist/main.js` on a free port; rejects with what it printed if it does not come to listen. */
export async function startService(environment: Record<string, string> = {}, cwd?: string): Promise<Service> {
  const child = spawn(process.execPath, [MAIN], {
    cwd,
    env: { PATH: process.env['PATH'], PORT: '0', DATABASE_URL: 'memory:', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  let output = '';
  const url = await new Promise<string>((listening, failed) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      const curl = /http:\/\/\S+(?=\/query\n)/.exec(output);
      if (curl) listening(curl[0]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void exited.then(([code]) => failed(new Error(`exit ${code}\n${output}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    // One that hangs must fail its test, not the whole suite.
    const killer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    const [code, signal] = await exited;
    clearTimeout(killer);
    return signal ?? code;
  };
  return { url, output: () => output, process: child, stop };
}
