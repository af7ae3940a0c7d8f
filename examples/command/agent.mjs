/**
 * An agent for the standalone service, in Node without any package:
 *
 *     AGENT=command COMMAND='node examples/command/agent.mjs' npm start
 *
 * It repeats the words of each text one by one, and counts the bytes of each file. It stops in order when it is asked to.
 */
import { stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

const stopping = new AbortController();
process.on('SIGTERM', () => stopping.abort());

/** The query is one line of JSON on the standard input. */
const { parts, kwargs, session } = JSON.parse(await text(process.stdin));

function emit(type, data) {
  console.log(JSON.stringify({ type, data }));
}

async function answer() {
  if (session?.turns.length > 0)
    emit('log', { message: `Question ${session.turns.length + 1} of this conversation` });
  for (const part of parts) {
    if (part.type === 'file') {
      const { size } = await stat(part.path);
      emit('log', { message: `${part.name}: ${size} bytes, ${part.mimeType}` });
      continue;
    }
    for (const word of part.text.split(/\s+/).filter(Boolean)) {
      await pause(kwargs.pauseMs ?? 200, undefined, { signal: stopping.signal });
      emit('message', { content: `${word.toUpperCase()} ` });
    }
  }
}

await answer().catch((error) => {
  if (!stopping.signal.aborted) throw error;
  console.error('The run was stopped.');
});
