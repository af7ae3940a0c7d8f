import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

const STAGES = [
  'requestsCut',
  'answersCut',
  'sentByteByByte',
  'readByteByByte',
  'neverReading',
  'neverSending',
  'halfOpen',
  'badFraming',
  'bytesAfterGzip',
  'sendingAfterTheAnswer',
  'pipelined',
  'crowd',
];

// The program reads `/proc`.
const onLinux = process.platform === 'linux' ? it : it.skip;

/** The short form of `clients.mjs`; it uses what `npm run build` has built. */
onLinux.each(['fastify', 'express'])(
  'The service on %s comes to rest after clients that are cut, slow, silent or wrong, and answers the others',
  async (adapter) => {
    const program = join(import.meta.dirname, 'clients.mjs');
    const sizes = ['--clients', '40', '--every', '50'];
    const { stdout, stderr } = await run(process.execPath, [program, '--adapter', adapter, ...sizes]);
    expect(stderr).toBe('');
    const lines = stdout.trimEnd().split('\n');
    expect(lines.pop()).toBe('all clients were answered or refused');
    const counts = JSON.parse(lines.pop()!) as { ordinary: number; runs: number };
    expect(lines.map((line) => line.split(':', 1)[0])).toEqual(['idle', ...STAGES]);
    // One ordinary query at least during each stage, and one after it.
    expect(counts.ordinary).toBeGreaterThanOrEqual(2 * STAGES.length);
    expect(counts.runs).toBeGreaterThan(counts.ordinary);
  },
  120_000,
);
