/** Databases, each made for one process that keeps its runs in it: the URL that opens it, and `close()`, which removes it. */
import { mkdtemp, open, rm } from 'node:fs/promises';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const DATABASES = {
  memory: () => ({ url: 'memory:', close: () => undefined }),

  async file() {
    const directory = await temporaryDirectory();
    return {
      url: `file:${join(directory, 'runs.db')}`,
      close: () => rm(directory, { recursive: true }),
    };
  },

  async postgres() {
    register('../support/typescript-hooks.mjs', import.meta.url);
    const { startPostgres } = await import('../support/postgres.ts');
    return startPostgres();
  },
};

const temporaryDirectory = () => mkdtemp(join(tmpdir(), 'nest-agent-query-bench-'));

/** How long it takes to write 4 KiB and to be told that they are on the disk, milliseconds: the least that a commit costs. */
export async function syncMs() {
  const directory = await temporaryDirectory();
  const file = await open(join(directory, 'probe'), 'w');
  const times = [];
  for (let i = 0; i < 200; i++) {
    const began = performance.now();
    await file.write(Buffer.alloc(4096));
    await file.sync();
    times.push(performance.now() - began);
  }
  await file.close();
  await rm(directory, { recursive: true });
  return times.sort((a, b) => a - b)[times.length >> 1];
}
