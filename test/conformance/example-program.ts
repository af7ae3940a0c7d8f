import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/documents.js';

/** A service in another language, in a process of its own. */
export interface CoreService {
  url: string;
  stop(): Promise<void>;
}

/** Starts the second implementation of the level `core`. */
export async function startCoreService(): Promise<CoreService> {
  const marks = await mkdtemp(join(tmpdir(), 'conformance-marks-'));
  const child = spawn('python3', [join(ROOT, 'examples/conformance/core_service.py'), '0'], {
    env: { PATH: process.env['PATH'], CONFORMANCE_MARKS: marks },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const url = await addressOf(child);
  const stop = async () => {
    const exited = once(child, 'exit');
    child.kill();
    await exited;
    await rm(marks, { recursive: true });
  };
  return { url, stop };
}

async function addressOf(child: ChildProcess): Promise<string> {
  let output = '';
  return new Promise((resolve, reject) => {
    child.stderr!.on('data', (bytes: Buffer) => (output += bytes.toString()));
    child.stdout!.on('data', (bytes: Buffer) => {
      output += bytes.toString();
      const [, url] = /^listens on (\S+)$/m.exec(output) ?? [];
      if (url !== undefined) resolve(url);
    });
    child.once('exit', (code) => reject(new Error(`It ended with ${code}:\n${output}`)));
  });
}
