/** Programs that measure something without peers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';

/** Executes a program. Returns the lines that it prints. */
export async function linesOf(path) {
  const child = spawn(process.execPath, [path], { stdio: ['ignore', 'pipe', 'inherit'] });
  let lines = '';
  for await (const text of child.stdout.setEncoding('utf8')) lines += text;
  const [code, signal] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
  if (code !== 0) throw new Error(`${path} ended with ${signal ?? code}.`);
  return lines.trimEnd();
}
