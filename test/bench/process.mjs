/** Processes of their own for servers and load, pinned to a core each where the system allows. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { DATABASES } from './databases.mjs';
import { PEERS } from './peers/index.mjs';

const HERE = import.meta.dirname;

export const isPinned = availableParallelism() > 1 && spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/** Starts a process on a core, or on any; `cleanUp` is called when it is gone, however it ended. `output` is that of its stdout. */
function start(core, args, { cleanUp = () => undefined, output = 'inherit' } = {}) {
  const node = [process.execPath, '--expose-gc', '--no-warnings', ...args];
  const [command, ...rest] = isPinned && core !== undefined ? ['taskset', '-c', String(core), ...node] : node;
  const child = spawn(command, rest, { stdio: ['ignore', output, 'inherit', 'ipc'] });
  const gone = once(child, 'exit').then(async ([code]) => {
    await cleanUp();
    if (!child.stopped) throw new Error(`${args.join(' ')} ended with ${code}`);
  });
  gone.catch(() => undefined);
  const answer = async () => (await Promise.race([once(child, 'message'), gone]))[0];
  const ask = (question) => {
    const answered = answer();
    child.send(question);
    return answered;
  };
  const stop = () => {
    child.stopped = true;
    child.kill('SIGKILL');
    return gone;
  };
  return { answer, ask, stop };
}

/**
 * Starts the server of a peer, and before it the database that it keeps its runs in, which is not pinned to a core: its port,
 * and what it has used (`server.mjs`).
 *
 * @param core the server's; undefined for any
 */
export async function startServer(peer, core) {
  const { database: kind, output } = PEERS[peer];
  const database = await DATABASES[kind]?.();
  const args = database ? [peer, database.url] : [peer];
  const cleanUp = () => database?.close();
  const { answer, ask, stop } = start(core, [`${HERE}/server.mjs`, ...args], { cleanUp, output });
  const { port } = await answer();
  return { port, usage: (question = {}) => ask(question), stop };
}

/** Starts a process of a cluster. There are more of them than cores: none is pinned. */
export async function startMember(role, databaseUrl, queueUrl) {
  const urls = queueUrl ? [databaseUrl, queueUrl] : [databaseUrl];
  const { answer, ask, stop } = start(undefined, [`${HERE}/cluster/member.mjs`, role, ...urls]);
  const { port } = await answer();
  return { port, usage: () => ask({}), stop };
}

/** Starts the load process. */
export function startLoad() {
  const { ask, stop } = start(1, [`${HERE}/load/index.mjs`]);
  return { run: (job, options = {}) => ask({ job, ...options }), stop };
}
