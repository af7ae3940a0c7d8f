import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { MARK, markedProcesses, memoryOf } from './processes.mjs';

/**
 * What an agent does without the service: how long it takes until a session is there, its memory then, and whether it asks before it
 * executes a command, if it is told nothing of modes.
 */
export async function measureRaw({ command, env, authMethod }, folder, mark) {
  const agent = await RawAgent.start(command, { ...env, [MARK]: mark }, folder);
  try {
    await agent.ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
    if (authMethod) await agent.ask('authenticate', { methodId: authMethod });
    const { sessionId } = await agent.ask('session/new', { cwd: folder, mcpServers: [] });
    const startMs = performance.now() - agent.began;
    const megabytes = memoryOf(await markedProcesses(mark));
    const prompt = [{ type: 'text', text: `DO run touch ${join(folder, 'asked')}` }];
    const ended = agent.ask('session/prompt', { sessionId, prompt }).then(() => 'in mode `default`');
    const asks = await Promise.race([agent.asked.then(() => 'yes'), ended]);
    return { startSeconds: startMs / 1000, megabytes, asks };
  } finally {
    await agent.stop();
  }
}

/** An agent that is spoken to as its protocol says, and without any of the service. */
class RawAgent {
  began = performance.now();
  asked;
  #child;
  #waiting = new Map();
  #isAsked;

  static async start(command, env, folder) {
    const home = join(folder, 'home');
    await mkdir(home, { recursive: true });
    return new RawAgent(command, { PATH: process.env.PATH, HOME: home, ...env }, folder);
  }

  constructor([file, ...parameters], env, cwd) {
    this.asked = new Promise((resolve) => (this.#isAsked = resolve));
    this.#child = spawn(file, parameters, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
    this.#child.stdin.on('error', () => undefined);
    this.#child.once('close', () =>
      this.#waiting.forEach(({ reject }) => reject(new Error('The agent has ended.'))),
    );
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#read(JSON.parse(line)));
  }

  ask(method, params) {
    const id = this.#waiting.size + 1;
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  async stop() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'close');
    process.kill(-this.#child.pid, 'SIGKILL');
    await ended;
  }

  #read({ id, method, result, error }) {
    if (method === 'session/request_permission') return this.#isAsked();
    if (method !== undefined) return;
    const { resolve, reject } = this.#waiting.get(id) ?? {};
    if (error) reject?.(new Error(JSON.stringify(error)));
    else resolve?.(result);
  }
}
