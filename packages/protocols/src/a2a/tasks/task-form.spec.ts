import fc from 'fast-check';
import type { Envelope, RunView } from 'nest-agent-query';
import { joinedPieces, type LogSlice } from 'nest-agent-query/protocol';
import { type Face, V1_0 } from '../face.js';
import { V0_3 } from '../v0.3/face.js';
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

interface ArtifactUpdate {
  artifact: Artifact;
  append?: boolean;
}

interface Event {
  task?: { artifacts?: Artifact[] };
  artifactUpdate?: ArtifactUpdate;
}

/** An event as 0.3 has it. */
type Flat = { kind?: string; artifacts?: Artifact[] } & ArtifactUpdate;

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

/** Envelopes of a log: those after a number, up to another one. */
function sliceOf(log: readonly Envelope[], after: number, end = log.length): LogSlice {
  const lines = log.slice(after, end).map((each) => JSON.stringify(each));
  const ended = end >= log.length;
  return { first: after + 1, count: lines.length, lines: lines.join('\n'), endOffset: 0, ended };
}

async function written(pieces: Parameters<typeof joinedPieces>[0]): Promise<string> {
  const texts: string[] = [];
  for await (const text of joinedPieces(pieces)) texts.push(text);
  return texts.join('');
}

/** What a response shows of a log that arrives in pieces. */
async function shown(
  log: readonly Envelope[],
  more: Partial<Shown> & { face: Face },
  piece = 1,
): Promise<string[]> {
  const form = new TaskForm(RUN, 'http://a', {
    resolved: RESOLVED,
    hasCursors: true,
    frame: ['', ''],
    ...more,
  });
  form.log = (after) => sliceOf(log, after);
  let text = form.beginning();
  for (let at = 0; at < log.length && !form.isOver; at += piece) {
    const { text: first, rest = [] } = form.framesOf(sliceOf(log, at, at + piece));
    text += first + (await written(rest));
  }
  // JSON may have it in both ways, and has it as the slices of the log fall.
  return text
    .replaceAll('\u2028', '\\u2028')
    .split('\n\n')
    .filter((event) => event !== '');
}

function eventOf(frame: string): Event {
  const event = JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as Event & Flat;
  if (event.kind === 'task') return { task: event };
  return event.kind === 'artifact-update' ? { artifactUpdate: event } : event;
}

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

async function read(log: readonly Envelope[], face: Face): Promise<Map<string, string>> {
  const reader = new ArtifactReader('http://a', face);
  reader.log = (after) => sliceOf(log, after);
  reader.framesOf(sliceOf(log, 0));
  const { list } = reader.artifacts;
  return texts(list ? (JSON.parse(await written(list.pieces)) as Artifact[]) : []);
}

describe.each([
  { version: '1.0', face: V1_0 },
  { version: '0.3', face: V0_3 },
])('The events of a task of A2A $version', ({ face }) => {
  it('are the same, however the log arrives, and after any of them', async () => {
    await fc.assert(
      fc.asyncProperty(LOGS, fc.integer({ min: 1, max: 7 }), async (log, piece) => {
        const whole = await shown(log, { face });
        expect(await shown(log, { face }, piece)).toEqual(whole);
        for (let from = 0; from < whole.length; from++)
          expect(await shown(log, { face, from }, piece)).toEqual(whole.slice(from));
      }),
    );
  });

  it('are the artifacts that the task has, from whichever envelope on', async () => {
    await fc.assert(
      fc.asyncProperty(LOGS, fc.nat(25), async (log, number) => {
        expect(built(await shown(log, { face }))).toEqual(await read(log, face));
        const after = Math.min(number, log.length - 1);
        const task = { id: 'run', contextId: 's', status: { state: 'TASK_STATE_WORKING' } } as const;
        expect(built(await shown(log, { face, snapshot: { after, task } }))).toEqual(await read(log, face));
      }),
    );
  });
});
