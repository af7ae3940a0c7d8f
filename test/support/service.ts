import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

const MAIN = resolve(import.meta.dirname, '../../dist/main.js');

/** The standalone service in a process of its own. */
export interface Service {
  url: string;
  /** What it has printed so far. */
  output: () => string;
  /** Resolves with the signal that ended the process, or its exit code. */
  exited: Promise<NodeJS.Signals | number | null>;
  process: ChildProcess;
  /** Sends SIGTERM and waits for the end of the process. */
  stop(): Promise<NodeJS.Signals | number | null>;
}

/** Starts `dist/main.js` on a free port; rejects with its output if it ends before it listens. */
export async function startService(environment: Record<string, string> = {}, cwd?: string): Promise<Service> {
  const child = spawn(process.execPath, [MAIN], {
    cwd,
    env: { PATH: process.env['PATH'], PORT: '0', DATABASE_URL: 'memory:', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exiting = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const exited = exiting.then(([code, signal]) => signal ?? code);
  let output = '';
  const url = await new Promise<string>((listening, failed) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      const curl = /http:\/\/\S+(?=\/query\n)/.exec(output);
      if (curl) listening(curl[0]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void exited.then((end) => failed(new Error(`exit ${end}\n${output}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    // A process that hangs must fail its test, not the whole suite.
    const killer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    const end = await exited;
    clearTimeout(killer);
    return end;
  };
  return { url, output: () => output, exited, process: child, stop };
}
