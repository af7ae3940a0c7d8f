/** Processes of their own for servers and load, pinned to a core each where the system allows. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';

const HERE = import.meta.dirname;

export const isPinned = availableParallelism() > 1 && spawnSync('taskset', ['-c', '0', 'true']).status === 0;

function start(core, args) {
  const node = [process.execPath, '--expose-gc', '--no-warnings', ...args];
  const [command, ...rest] = isPinned ? ['taskset', '-c', String(core), ...node] : node;
  const child = spawn(command, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const failed = once(child, 'exit').then(([code]) => {
    if (!child.stopped) throw new Error(`${args.join(' ')} ended with ${code}`);
  });
  failed.catch(() => undefined);
  const answer = async () => (await Promise.race([once(child, 'message'), failed]))[0];
  const ask = (question) => {
    const answered = answer();
    child.send(question);
    return answered;
  };
  const stop = () => {
    child.stopped = true;
    child.kill('SIGKILL');
    return failed;
  };
  return { answer, ask, stop };
}

/** Starts the server of a peer: its port, and what it has used. */
export async function startServer(peer) {
  const { answer, ask, stop } = start(0, [`${HERE}/server.mjs`, peer]);
  const { port } = await answer();
  return { port, usage: (collect = false) => ask({ collect }), stop };
}

/** Starts the load process. */
export function startLoad() {
  const { ask, stop } = start(1, [`${HERE}/load/index.mjs`]);
  return { run: (job, options = {}) => ask({ job, ...options }), stop };
}
