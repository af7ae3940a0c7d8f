import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { eventuallyElsewhere } from './conditions.js';
import { type Refusal, ServicesProcess } from './kept/services-process.js';

export type { Refusal };

const MAIN = resolve(import.meta.dirname, '../../dist/main.js');

/** A process of `dist/main.js`. */
export interface ServiceProcess {
  /** What it has printed so far. */
  output: () => string;
  /** Resolves with the signal that ended the process, or its exit code. */
  exited: Promise<NodeJS.Signals | number | null>;
  process: ChildProcess;
}

/** A service in a process that it may share. */
export interface SharedService {
  url: string;
  /** Each with its method, as Fastify has them. Only of a service in a shared process. */
  routes?: string[];
  /** What it has printed so far; if others are open in its process, also what they have printed. */
  output: () => string;
  stop(): Promise<unknown>;
}

/** The standalone service in a process of its own. */
export interface Service extends ServiceProcess, SharedService {
  /** Sends SIGTERM and waits for the end of the process. */
  stop(): Promise<NodeJS.Signals | number | null>;
}

const variablesOf = (environment: Record<string, string>) => ({
  PATH: process.env['PATH'],
  PORT: '0',
  DATABASE_URL: 'memory:',
  LOG_FORMAT: 'text',
  ...environment,
});

afterAll(() => ServicesProcess.endSuite());

/** Starts a service in a process that it shares with others. Rejects if it cannot start. */
export async function serve(environment: Record<string, string> = {}, cwd?: string): Promise<SharedService> {
  const { url, routes, number, refusal, output } = await tryToServe(environment, cwd);
  if (refusal) throw new Error(refusal.message);
  await eventuallyElsewhere(() => output().includes('nest-agent-query listens on'));
  return { url: url!, routes: routes!, output, stop: () => ServicesProcess.shared().do({ stopped: number }) };
}

/** What the shared process has printed in this suite, also of a service that does not start yet. */
export function sharedOutput(): string {
  return ServicesProcess.shared().output;
}

/** Why a service does not start. */
export async function refusalOf(environment: Record<string, string>, cwd?: string): Promise<Refusal> {
  const { refusal, number } = await tryToServe(environment, cwd);
  if (refusal) return refusal;
  await ServicesProcess.shared().do({ stopped: number });
  throw new Error('The service starts.');
}

async function tryToServe(environment: Record<string, string>, directory = process.cwd()) {
  const services = ServicesProcess.shared();
  const { length } = services.output;
  const answer = await services.do({ started: { variables: variablesOf(environment), directory } });
  return { ...answer, output: () => services.output.slice(length) };
}

/** Starts `dist/main.js` on a free port, and does not wait until it listens. */
export function spawnService(
  environment: Record<string, string> = {},
  cwd?: string,
  parameters: string[] = [],
): ServiceProcess {
  const child = spawn(process.execPath, [MAIN, ...parameters], {
    cwd,
    env: variablesOf(environment),
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

/** Starts a service in a process of its own; rejects with its output if it ends before it listens. */
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
