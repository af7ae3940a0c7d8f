import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { markedProcesses } from './processes.mjs';
import { FollowedQuery } from './query.mjs';

/** How long an agent may repeat a request that fails, from its first one on: agents that are started at once take long to start. */
const REPEATS_MS = 40_000;

/** How long an acknowledged end may take until the last process is gone from the list of the system. */
const GONE_MS = 5_000;

/**
 * What is done with an agent behind the service: `{ service, model, folder, mark }`. Each returns the word of its cell, and throws
 * an Error if what it waits for does not happen. They are executed in this order, one after the other, except those of {@link FAULTS}.
 */
export const CASES = {
  async stream(bench) {
    const query = await ask(bench, 'DO slow 8');
    await query.until(({ text }) => text.includes('3 '), 'beginning of the answer');
    const isLive = !query.end;
    await query.until(({ end }) => end, 'end');
    if (!query.text.includes('1 2 3 4 5 6 7 8')) return 'no';
    return isLive ? 'yes' : 'at the end';
  },

  async tool(bench) {
    const { query } = await approved(bench, 'tool');
    const calls = query.of('tool_call');
    const results = query.of('tool_result');
    const order = query.envelopes.map(({ type }) => type).filter((type) => /^tool_/.test(type));
    const isShown = JSON.stringify(calls).includes('tool.txt');
    return isShown && calls.length === 1 && results.length === 1 && order.join() === 'tool_call,tool_result'
      ? 'yes'
      : 'no';
  },

  async approve(bench) {
    const { query, before, file } = await approved(bench, 'approve');
    if (query.of('input_required').length === 0) return (await linesIn(file)) > 0 ? 'unasked' : 'no';
    return before === 0 && (await linesIn(file)) === 1 ? 'once' : 'no';
  },

  async decline(bench) {
    const file = join(bench.folder, 'decline.txt');
    const query = await ask(bench, `DO run echo executed >> ${file}`);
    await query.until(({ open }) => open.length > 0, 'question');
    await query.answerAll(false);
    if ((await linesIn(file)) > 0) return 'executed';
    return query.text.includes('The tool said') ? 'goes on' : 'ends';
  },

  async edit(bench) {
    const [old, changed] = ['old', 'changed'].map((name) => join(bench.folder, `edit-${name}.txt`));
    const query = await ask(bench, `DO run echo executed >> ${old}`);
    const [request] = await query.until(({ open }) => open.length > 0 && open, 'question');
    if (request.editable !== true) {
      await query.answerAll(false);
      return 'cannot';
    }
    await query.answer(request, true, {
      arguments: { ...request.arguments, command: `echo executed >> ${changed}` },
    });
    await query.answerAll(true);
    return (await linesIn(old)) === 0 && (await linesIn(changed)) === 1 ? 'changed' : 'no';
  },

  async answering(bench) {
    const query = await ask(bench, 'DO slow 600');
    await query.until(({ text }) => text.includes('2 '), 'beginning of the answer');
    return cancelled(bench, query);
  },

  async asking(bench) {
    const query = await ask(bench, `DO run echo executed >> ${join(bench.folder, 'asking.txt')}`);
    await query.until(({ open }) => open.length > 0, 'question');
    return cancelled(bench, query);
  },

  async executing(bench) {
    const query = await ask(bench, `DO run node -e '${WAITS}'`);
    const [request] = await query.until(({ open }) => open.length > 0 && open, 'question');
    await query.answer(request, true);
    await untilProcesses(bench, (all) => all.some(({ command }) => command.includes(WAITS)));
    return cancelled(bench, query);
  },

  async turns(bench) {
    const session = nameOf('turns');
    for (const text of ['first', 'second']) {
      const query = await ask(bench, `DO say the ${text} answer`, { session });
      await query.until(({ end }) => end, 'end');
    }
    const seen = bench.model.requests
      .filter(({ hasTools }) => hasTools)
      .map(({ orders }) => JSON.stringify(orders));
    const both = seen.filter(
      (orders) => orders.includes('the first answer') && orders.includes('the second answer'),
    );
    return both.length > 0 ? 'yes' : 'no';
  },

  async killed(bench) {
    const file = join(bench.folder, 'killed.txt');
    const query = await ask(bench, `DO run echo executed >> ${file}`);
    const [request] = await query.until(({ open }) => open.length > 0 && open, 'question');
    const before = await markedProcesses(bench.mark);
    await bench.service.kill();
    await bench.service.start();
    const isOfBefore = ({ pid }) => before.some((one) => one.pid === pid);
    await untilProcesses(bench, (all) => !all.some(isOfBefore));
    await query.answer(request, true);
    await query.answerAll(true);
    const executed = await linesIn(file);
    if (executed !== 1) return executed === 0 ? 'not executed' : 'twice';
    return query.of('input_required').length === 1 ? 'once' : 'asks again';
  },

  async owners(bench) {
    const queries = await Promise.all(['anna', 'ben'].map((owner) => ask(bench, 'DO say hello', { owner })));
    await Promise.all(queries.map((query) => query.until(({ end }) => end, 'end')));
    const entries = await readdir(bench.service.directory, { recursive: true });
    const owners = new Set(
      entries.map((path) => path.split('/').find((name) => name.length > 15)).filter(Boolean),
    );
    return owners.size >= 2 ? 'apart' : 'shared';
  },
};

/** Errors of the model. Agents repeat them for a long time, so they are done at once. */
export const FAULTS = {
  status401: (bench) => failed(bench, 'DO status 401'),
  status429: (bench) => failed(bench, 'DO status 429'),
  status500: (bench) => failed(bench, 'DO status 500'),
  cut: (bench) => failed(bench, 'DO cut'),
};

/** Whether a process is left when nothing is executed any more. */
export async function leftOf(bench) {
  const left = await untilProcesses(bench, (all) => all.length === 0).catch((error) => error);
  return left instanceof Error ? 'processes' : 'nothing';
}

/** What a command does that goes on: agents refuse a mere `sleep`, and execute `tail` unasked. */
const WAITS = 'setTimeout(Object, 3217000)';

let sessions = 0;

function nameOf(purpose) {
  sessions += 1;
  return `${purpose}-${sessions}`;
}

function ask({ service }, text, options = {}) {
  return FollowedQuery.start(service, text, { session: nameOf('case'), ...options });
}

async function approved(bench, name) {
  const file = join(bench.folder, `${name}.txt`);
  const query = await ask(bench, `DO run echo executed >> ${file}`);
  await query.until(({ open, end }) => end ?? open.length > 0, 'question');
  const before = await linesIn(file);
  await query.answerAll(true);
  return { query, before, file };
}

async function cancelled(bench, query) {
  const status = await query.cancel();
  if ((await markedProcesses(bench.mark)).length === 0) return status === 200 ? 'yes' : 'late';
  return (await leftOf(bench)) === 'nothing' ? 'late' : 'left';
}

async function failed(bench, text) {
  const query = await ask(bench, text);
  await query.until(({ end }) => end || bench.model.hasSeen(text), 'request to the model');
  const end = await query.until((one) => one.end, 'end', REPEATS_MS).catch(() => undefined);
  if (!end) await cancelOf(bench, query);
  const times = query.text.split('This is cut in').length - 1;
  const word = end ? (end.error?.code ?? end.status) : 'repeats';
  return times > 1 ? `twice, ${word}` : word;
}

async function cancelOf({ service }, { id }) {
  const { OWNERS } = await import('./service.mjs');
  const headers = { authorization: `Bearer ${OWNERS.anna}` };
  await (await fetch(`${service.url}/query/${id}`, { method: 'DELETE', headers })).text();
}

async function untilProcesses({ mark }, condition) {
  const latest = performance.now() + GONE_MS;
  for (;;) {
    const all = await markedProcesses(mark);
    if (condition(all)) return all;
    if (performance.now() > latest)
      throw new Error(`The processes are: ${all.map(({ command }) => command).join('; ')}`);
    await pause(50);
  }
}

async function linesIn(file) {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').length - 1;
}
