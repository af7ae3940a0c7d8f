/**
 * What a process of the pool does: it answers one request after another, and ends when the service closes the channel or is
 * gone. Whatever a file does to it, the service is not affected.
 */
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import type { Answering } from './answer.js';
import { answerQuestion } from './answer-question.js';
import { OUT_OF_MEMORY } from './parser-protocol.js';
import type { FromParser, ParserEnd, ParserRequest, ToParser } from './parser-protocol.js';
import { RequestedFile } from './requested-file.js';
import { Workspace } from './tables/workspace.js';
import { UnreadableFile } from './unreadable-file.js';

const [memoryMiB, parent] = process.argv.slice(2, 4).map(Number);
// The engine for tables reads files by their path. The service removes the directory if this process dies.
const workspace = new Workspace(process.argv[4]!);
const resident = () => process.memoryUsage.rss();

let files: RequestedFile[] = [];

process.on('message', (message: ToParser) => {
  if (message.type === 'bytes') files[message.file]?.receive(message.id, message.bytes);
  else void execute(message.request, message.content);
});
process.on('disconnect', () => process.exit());
// The service may have gone while this program was loaded.
if (!process.connected) process.exit();

// A library may leave a promise behind when its file has been answered. It must not end the process, which works on another
// file by then.
process.on('unhandledRejection', () => undefined);

function send(message: FromParser): void {
  // An error means that the service is gone, which ends this process.
  process.send!(message, undefined, undefined, () => undefined);
}

async function execute(request: ParserRequest, content: Uint8Array | undefined): Promise<void> {
  const { question, limits } = request;
  files = request.files.map(
    (label, file) =>
      new RequestedFile(label, limits.seconds, content, (id, start, end) =>
        send({ type: 'read', file, id, start, end }),
      ),
  );
  await workspace.clear();
  const end = await answer(answerQuestion(question, files, limits, workspace)).catch(endOfFailure);
  await workspace.clear(end.type === 'done' ? end.attachments.file?.path : undefined);
  send(end);
}

async function answer(answering: Answering): Promise<ParserEnd> {
  for (;;) {
    const step = await answering.next();
    if (step.done) return { type: 'done', resident: resident(), attachments: step.value ?? {} };
    send({ type: 'piece', piece: step.value });
  }
}

function endOfFailure(error: unknown): ParserEnd {
  if (error instanceof UnreadableFile) {
    return { type: 'unreadable', reason: error.message, resident: resident() };
  }
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { type: 'failed', cause, resident: resident() };
}

const watchdog = new Worker(new URL('./watchdog.js', import.meta.url), {
  workerData: {
    maxResident: resident() + memoryMiB! * 1024 * 1024,
    parent,
    directory: workspace.directory,
    outOfMemory: OUT_OF_MEMORY,
  },
  execArgv: [],
  env: {},
});
watchdog.once('online', () => send({ type: 'ready', resident: resident() }));
