import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import process from 'node:process';
import { eventually } from './conditions.js';
import { freePort } from './free-port.mjs';

/**
 * Why no Redis can be started; empty if it can. No npm package contains its binaries. What needs it is skipped without it, unless
 * `REQUIRE_REDIS` is set, as in CI.
 */
export const NO_REDIS = missing();

function missing(): string {
  try {
    execFileSync('redis-server', ['--version']);
    return '';
  } catch (error) {
    if (process.env['REQUIRE_REDIS'] !== undefined) throw error;
    return 'the program redis-server is not installed';
  }
}

/**
 * A Redis server for one test suite, on the loopback interface.
 *
 * @param directory where it keeps its data. Default: it keeps nothing on disk
 */
export async function startRedis(port?: number, directory?: string) {
  const chosen = port ?? (await freePort());
  const kept = directory === undefined ? ['no'] : ['yes', '--appendfsync', 'always', '--dir', directory];
  const options = ['--port', String(chosen), '--bind', '127.0.0.1', '--save', '', '--appendonly', ...kept];
  const server = spawn('redis-server', options, { stdio: 'ignore' });
  const exited = once(server, 'exit');
  await eventually(() => answers(chosen));
  const kill = async () => {
    server.kill('SIGKILL');
    await exited;
  };
  return { url: `redis://127.0.0.1:${chosen}`, port: chosen, kill };
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const [event] = await Promise.race([
    once(socket, 'connect').then(() => ['connect']),
    once(socket, 'close').then(() => ['close']),
  ]).catch(() => ['error']);
  socket.destroy();
  return event === 'connect';
}
