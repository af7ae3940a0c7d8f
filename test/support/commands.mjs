/**
 * A process in which its parent executes commands of the command line, one after another, so that their modules are loaded
 * once for many. Each has its own arguments, variables and streams.
 */
import process from 'node:process';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

/** What a command listens for until its process ends. */
const EVENTS = ['exit', 'SIGINT', 'SIGTERM'];

async function execute({ main, parameters, variables, stdin }, number) {
  const written = { stdout: [], stderr: [] };
  for (const name of ['stdout', 'stderr']) {
    const write = (chunk, _, done) => done(void written[name].push(chunk));
    Object.defineProperty(process, name, { value: new Writable({ write }), configurable: true });
  }
  const input = Readable.from([Buffer.from(stdin, 'base64')], { objectMode: false });
  Object.defineProperty(process, 'stdin', { value: input, configurable: true });
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, variables);
  process.argv = [process.execPath, main, ...parameters];
  process.exitCode = undefined;
  const exited = new Promise((resolve) => (process.exit = (code) => resolve(code)));
  const finished = import(`${pathToFileURL(main)}?${number}`).then(() => process.exitCode ?? 0);
  const code = await Promise.race([exited, finished]);
  for (const event of EVENTS) process.removeAllListeners(event);
  const textOf = (chunks) => Buffer.concat(chunks).toString();
  return { stdout: textOf(written.stdout), stderr: textOf(written.stderr), code };
}

const exit = process.exit.bind(process);
let last = Promise.resolve();
process.on('message', ({ number, ...command }) => {
  last = last.then(async () => process.send({ number, ...(await execute(command, number)) }));
});
process.on('disconnect', () => exit());
