import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { trace } from '@opentelemetry/api';

/**
 * An agent that executes the steps of `kwargs.steps`, one after another. A step is an object with one member:
 *
 * - `emit`: n messages with consecutive numbers, `everyMs` apart, each with `length` characters more
 * - `gate`: waits until the test opens the gate with this name
 * - `checkpointed`: n parts of three messages each, with a checkpoint after each part; begins after the last checkpoint. In each
 *   of the parts `gates`, it waits at the gate `part<number>` after one, two or three messages
 * - `files`: one message per file, with its digest and size
 * - `turns`: one message with the texts of the earlier turns
 * - `span`: makes a span with this name
 * - `usage`: emits a `usage` envelope with this data
 * - `ask`: asks for an approval with this key, with `more` members, and emits the outcome. If it `survives`, it gives a
 *   checkpoint: a later attempt begins with this step
 * - `deaf`: from here on, the signal is ignored
 * - `kill`: the process ends at once, as a handler with a defect may end it
 * - `block`: the process does nothing else for a minute, as in a long loop
 *
 * Each call and each return is noted in the journal, a file that all processes of a cluster share.
 *
 * @param options `name` of the process, path of the `journal`, URL of the `gates`
 */
export function steeredAgent({ name, journal, gates }) {
  return async function* steered(query, context) {
    const note = (what) => {
      const { runId, resumed } = context;
      const entry = { what, runId, attempt: resumed?.attempt ?? 1, process: name, at: Date.now() };
      appendFileSync(journal, `${JSON.stringify(entry)}\n`);
    };
    note('called');
    const run = { query, context, gates, note, emitted: 0, signal: context.signal };
    try {
      const steps = query.kwargs.steps ?? [{ emit: 1 }];
      const first = steps.findIndex(({ ask }) => ask && ask === context.resumed?.state?.asked);
      for (const step of steps.slice(Math.max(0, first))) {
        const [kind] = Object.keys(step).filter((key) => key in STEPS);
        const result = STEPS[kind](run, step);
        if (result instanceof Promise) await result;
        else yield* result;
      }
    } catch (error) {
      if (!context.signal.aborted) throw error;
    } finally {
      note(context.signal.aborted ? 'aborted' : 'returned');
    }
  };
}

const message = (content) => ({ type: 'message', data: { content } });

const STEPS = {
  async *emit(run, { emit, everyMs = 0, length = 0 }) {
    for (let n = 0; n < emit; n++) {
      if (everyMs > 0) await pause(run, everyMs);
      run.emitted++;
      yield message(`${run.emitted}${'x'.repeat(length)} `);
    }
  },
  async gate(run, { gate }) {
    await fetch(`${run.gates}/${gate}/${run.context.runId}`, { signal: run.signal });
  },
  async *checkpointed(run, { checkpointed, everyMs = 0, gates = [] }) {
    const { resumed } = run.context;
    for (let part = (resumed?.state?.part ?? 0) + 1; part <= checkpointed; part++) {
      for (const letter of ['a', 'b', 'c']) {
        await pause(run, everyMs);
        yield message(`${part}${letter} `);
        const isGate = gates.includes(part) && letter === 'abc'[part % 3];
        if (isGate) await STEPS.gate(run, { gate: `part${part}` });
      }
      await run.context.checkpoint({ part });
    }
  },
  async *ask(run, { ask, survives, more }) {
    const question = { key: ask, kind: 'approval', message: 'May I?', ...more };
    run.note('asked');
    const [answer] = await run.context.ask([question], survives ? { checkpoint: { asked: ask } } : {});
    yield message(`${ask} ${answer.outcome} ${answer.value?.approved ?? ''} `);
  },
  async *files({ query }) {
    for (const part of query.parts) {
      if (part.type !== 'file') continue;
      const bytes = Buffer.from(await part.file.arrayBuffer());
      yield message(`${createHash('sha256').update(bytes).digest('hex')} ${bytes.length} `);
    }
  },
  async *turns({ context }) {
    yield message(JSON.stringify(context.history.map(({ text }) => text)));
  },
  async span(run, { span }) {
    trace.getTracer('model').startSpan(span).end();
  },
  async *usage(run, { usage }) {
    yield { type: 'usage', data: usage };
  },
  async kill() {
    process.kill(process.pid, 'SIGKILL');
  },
  async block() {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
  },
  async deaf(run) {
    run.signal = undefined;
  },
};

async function pause({ signal }, ms) {
  await delay(ms, undefined, { signal });
}
