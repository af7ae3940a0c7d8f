/**
 * An agent for the standalone service, in plain JavaScript and without an import of the package:
 *
 *     AGENT=./examples/agent.mjs npm start
 *
 * It streams its answer word by word, so that you can watch it, lose the connection, resume and cancel.
 */
import { setTimeout as pause } from 'node:timers/promises';

/** Milliseconds between two words, unless the caller sends `kwargs.pauseMs`. */
const PAUSE_MS = 200;

export default async function* answer({ parts, kwargs }, { history, signal }) {
  const pauseMs = typeof kwargs.pauseMs === 'number' ? kwargs.pauseMs : PAUSE_MS;
  const earlier = history.length;
  if (earlier > 0) yield log(`Question ${earlier + 1} of this conversation`);

  for (const part of parts) {
    if (part.type === 'file') {
      yield log(`${part.name}: ${part.file.size} bytes, ${part.mimeType}`);
      continue;
    }
    for (const word of part.text.split(/\s+/).filter(Boolean)) {
      // Rejects as soon as the run must stop. Pass the signal to everything that waits.
      await pause(pauseMs, undefined, { signal });
      yield message(`${word.toUpperCase()} `);
    }
  }
}

function message(content) {
  return { type: 'message', data: { content } };
}

function log(text) {
  return { type: 'log', data: { message: text } };
}
