import process from 'node:process';
import { join } from 'node:path';
import { MARK, markedProcesses, memoryOf } from '../processes.mjs';

/** It speaks no ACP: the service loads a module with its handler. */
export const program = (url) => ({
  module: join(import.meta.dirname, 'claude-sdk-handler.mjs'),
  env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none', CLAUDE_CODE_MAX_RETRIES: '1' },
});

/** What the SDK does without the service: see `measureRaw`. */
export async function measure({ env }, folder, mark) {
  const { query } = await import('@anthropic-ai/claude-agent-sdk');
  const began = performance.now();
  let end;
  const isOver = new Promise((resolve) => (end = resolve));
  const seen = { asks: 'no' };
  const execution = query({
    prompt: promptUntil(`DO run touch ${join(folder, 'asked')}`, isOver),
    options: {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, ...env, [MARK]: mark },
      model: 'scripted',
      settingSources: [],
      async canUseTool() {
        seen.asks = 'yes';
        return { behavior: 'deny', message: 'This is only a measurement.', interrupt: true };
      },
    },
  });
  try {
    for await (const { type, subtype } of execution) {
      if (type === 'system' && subtype === 'init') {
        seen.startSeconds = (performance.now() - began) / 1000;
        seen.megabytes = memoryOf(await markedProcesses(mark));
      }
      if (type === 'result') break;
    }
  } catch (error) {
    // An interrupted query ends with an exception.
    if (seen.asks === 'no') throw error;
  } finally {
    end();
  }
  return seen;
}

/** The input of the program stays open until the end: one that has ended refuses calls. */
async function* promptUntil(text, isOver) {
  yield { type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null };
  await isOver;
}
