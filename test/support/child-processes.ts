import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The ids of the processes that parse files for a process. */
export async function parsersOf(parent: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-ww', '-o', 'pid=,ppid=,args=']);
  return stdout
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .filter((match) => Number(match?.[2]) === parent && match![3]!.includes('parser-process'))
    .map((match) => Number(match![1]));
}

/** Whether any of these processes runs. One that has ended but that nobody has asked about does not. */
export async function anyRuns(pids: number[]): Promise<boolean> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,stat=']);
  return stdout.split('\n').some((line) => {
    const [pid, state] = line.trim().split(/\s+/);
    return pids.includes(Number(pid)) && !state!.startsWith('Z');
  });
}

/** The id of a process that has ended. */
export async function deadProcess(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  return child.pid!;
}

/** A program in Python that ignores SIGTERM, as its child does, and prints the ids of both. */
export const STUBBORN = `import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 1000; done"])
print(os.getpid(), child.pid, flush=True)
while True: time.sleep(1000)
`;

/** The two ids that a program has printed, in the answer of the agent `command`. */
export function pidsIn(answer: string): number[] {
  return /"content":"(\d+) (\d+)\\n"/.exec(answer)!.slice(1).map(Number);
}
