import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

const MAIN = resolve(import.meta.dirname, '../../dist/main.js');

/** A process of `dist/main.js`. */
export interface ServiceProcess {
  /** What it has printed so far. */
  output: () => string;
  /** Resolves with the signal that ended the process, or its exit code. */
  exited: Promise<NodeJS.Signals | number | null>;
  process: ChildProcess;
}

/** The standalone service in a process of its own. */
export interface Service extends ServiceProcess {
  url: string;
  /** Sends SIGTERM and waits for the end of the process. */
  stop(): Promise<NodeJS.Signals | number | null>;
}

/** Starts `dist/main.js` on a free port, and does not wait until it listens. */
export function spawnService(
  environment: Record<string, string> = {},
  cwd?: string,
  parameters: string[] = [],
): ServiceProcess {
  const child = spawn(process.execPath, [MAIN, ...parameters], {
    cwd,
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      DATABASE_URL: 'memory:',
      LOG_FORMAT: 'text',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exiting = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const exited = exiting.then(([code, signal]) => signal ?? code);
  let output = '';
  const read = (chunk: Buffer) => (output += chunk.toString());
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  return { output: () => output, exited, process: child };
}

/** Starts the service; rejects with its output if it ends before it listens. */
export async function startService(
  environment: Record<string, string> = {},
  cwd?: string,
  parameters: string[] = [],
): Promise<Service> {
  const service = spawnService(environment, cwd, parameters);
  const { output, exited, process: child } = service;
  const url = await new Promise<string>((listening, failed) => {
    const look = () => {
      const [, url] = /nest-agent-query listens on (http:\/\/[^\s"]+)[\s"]/.exec(output()) ?? [];
      if (url !== undefined) listening(url);
    };
    child.stdout!.on('data', look);
    void exited.then((end) => failed(new Error(`exit ${end}\n${output()}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    // A process that hangs must fail its test, not the whole suite.
    const killer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    const end = await exited;
    clearTimeout(killer);
    return end;
  };
  return { ...service, url, stop };
}
