import fc from 'fast-check';
import type { Envelope, RunView } from 'nest-agent-query';
import { ArtifactReader } from './artifacts.js';
import { type Shown, TaskForm } from './task-form.js';

const RUN: RunView = {
  ...{ id: 'run', status: 'running', session: 's', events: 0 },
  ...{ createdAt: '2026-11-25T10:00:00.000Z', startedAt: null, endedAt: null },
};

interface Artifact {
  artifactId: string;
  parts: { text?: string }[];
}

interface Event {
  task?: { artifacts?: Artifact[] };
  artifactUpdate?: { artifact: Artifact; append?: boolean };
}

/** Envelopes of any types in any order, as a log may have them, with pauses that are over and restarts. */
const LOGS = fc
  .array(
    fc.constantFrom<Envelope>(
      ...[
        { type: 'message', data: { content: 'a' } },
        { type: 'message', data: { content: '' } },
        { type: 'message', data: { content: '"b"\u2028' } },
        { type: 'message', data: { content: 'c', id: 'm' } },
        { type: 'reasoning', data: { content: 'r' } },
        { type: 'tool_call', data: { id: 'c1', name: 't', arguments: {} } },
        { type: 'file', data: { name: 'a', mimeType: 'text/plain', size: 1, sha256: 'x', path: '/x' } },
        { type: 'source', data: { url: 'https://a.example/' } },
        { type: 'result', data: { value: null } },
        { type: 'log', data: { message: 'l' } },
        { type: 'restarted', data: { attempt: 2, from: 3 } },
        { type: 'ask', data: null },
      ],
    ),
    { maxLength: 25 },
  )
  .map((envelopes) => [
    ...envelopes.flatMap((envelope, index) => {
      if (envelope.type !== 'ask') return [envelope];
      const request = { id: 'q', kind: 'input', message: 'm', expiresAt: RUN.createdAt, onExpire: 'decline' };
      return [
        { type: 'input_required', data: { requests: [{ ...request, id: `q${index}` }] } },
        { type: 'input_resolved', data: { answers: [{ id: `q${index}`, outcome: 'answered' }] } },
      ];
    }),
    { type: 'done', data: { status: 'completed' } },
  ]);

const RESOLVED = new Set(Array.from({ length: 25 }, (_, index) => `q${index}`));

/** What a response shows of a log that arrives in pieces. */
function shown(log: readonly Envelope[], more: Partial<Shown>, piece = 1): string[] {
  const form = new TaskForm(RUN, 'http://a', {
    resolved: RESOLVED,
    hasCursors: true,
    frame: ['', ''],
    ...more,
  });
  let text = form.beginning();
  for (let at = 0; at < log.length && !form.isOver; at += piece) {
    const lines = log.slice(at, at + piece).map((each) => JSON.stringify(each));
    const slice = {
      first: at + 1,
      count: lines.length,
      lines: lines.join('\n'),
      ended: at + piece >= log.length,
    };
    text += form.framesOf(slice as never).text;
  }
  return text.split('\n\n').filter((event) => event !== '');
}

const eventOf = (frame: string) => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as Event;

/** The artifacts as a client builds them of events: their texts, by their ids. */
function built(frames: readonly string[]): Map<string, string> {
  const artifacts = new Map<string, Artifact['parts']>();
  for (const { task, artifactUpdate } of frames.map(eventOf)) {
    for (const { artifactId, parts } of task?.artifacts ?? []) artifacts.set(artifactId, parts);
    if (!artifactUpdate) continue;
    const { artifact, append } = artifactUpdate;
    artifacts.set(artifact.artifactId, [
      ...(append ? artifacts.get(artifact.artifactId)! : []),
      ...artifact.parts,
    ]);
  }
  return texts([...artifacts].map(([artifactId, parts]) => ({ artifactId, parts })));
}

const texts = (artifacts: readonly Artifact[]) =>
  new Map(
    artifacts
      .map(
        ({ artifactId, parts }) =>
          [artifactId, parts.map((part) => part.text ?? JSON.stringify(part)).join('')] as const,
      )
      // What a restart has emptied is no artifact any more.
      .filter(([, text]) => text !== ''),
  );

function read(log: readonly Envelope[]): Map<string, string> {
  const reader = new ArtifactReader('http://a');
  const lines = log.map((each) => JSON.stringify(each)).join('\n');
  reader.framesOf({ first: 1, count: log.length, lines } as never);
  return texts(reader.artifacts.list as never);
}

describe('The events of a task', () => {
  it('are the same, however the log arrives, and after any of them', () => {
    fc.assert(
      fc.property(LOGS, fc.integer({ min: 1, max: 7 }), (log, piece) => {
        const whole = shown(log, {});
        expect(shown(log, {}, piece)).toEqual(whole);
        for (let from = 0; from < whole.length; from++)
          expect(shown(log, { from }, piece)).toEqual(whole.slice(from));
      }),
    );
  });

  it('are the artifacts that the task has, from whichever envelope on', () => {
    fc.assert(
      fc.property(LOGS, fc.nat(25), (log, number) => {
        expect(built(shown(log, {}))).toEqual(read(log));
        const after = Math.min(number, log.length - 1);
        const task = { id: 'run', contextId: 's', status: { state: 'TASK_STATE_WORKING' } } as const;
        expect(built(shown(log, { snapshot: { after, task } }))).toEqual(read(log));
      }),
    );
  });
});
