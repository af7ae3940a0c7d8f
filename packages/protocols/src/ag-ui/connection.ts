import type { ServerResponse } from 'node:http';
import { type AgentService, type Envelope, QueryError } from 'nest-agent-query';
import { EventStream, holdAnswer, type HostRequest } from 'nest-agent-query/protocol';
import { of } from 'rxjs';
import { ascii } from '../view/event-form.js';
import { type PastTurn, PastTurns } from '../view/past-turns.js';
import { AgUiForm } from './ag-ui-form.js';
import { type AgUiMessage, MessagesReader } from './messages-reader.js';
import type { Shown } from './run-events.js';
import type { RunInput } from './run-input.js';
import { followed } from './runs.js';
import { userMessageOf } from './user-message.js';

/** Who connects to a thread. */
interface Connecting {
  agent: AgentService;
  owner: string;
  request: HostRequest;
  response: ServerResponse;
  /** That of the endpoint: the files of queries are under it. */
  path: string;
}

/** What was said in a thread, as JSON in ASCII, and the run that goes on. */
interface Snapshot {
  messages: string[];
  unfinished: string | undefined;
}

/** A stream with the messages of a thread so far, and then with the answer that goes on, if there is one. */
export async function connected(connecting: Connecting, input: RunInput): Promise<EventStream> {
  const { agent, owner, request } = connecting;
  const { threadId, runId, isBefore1 } = input;
  const read = await snapshotOf(connecting, threadId);
  const frame = read && `data: {"type":"MESSAGES_SNAPSHOT","messages":[${read.messages.join(',')}]}\n\n`;
  const shown: Shown = { threadId, runId, isBefore1, ...(frame !== undefined && { snapshot: frame }) };
  if (read?.unfinished !== undefined)
    return followed(agent, owner, await agent.find(owner, read.unfinished), shown, request);
  const done: Envelope = { type: 'done', data: { status: 'completed' } };
  return new EventStream(of(done), new AgUiForm(undefined, shown));
}

/** Undefined if there is no such thread: the client may begin it. */
async function snapshotOf(
  { agent, owner, response, path }: Connecting,
  thread: string,
): Promise<Snapshot | undefined> {
  const messages: string[] = [];
  let held = 0;
  const add = (added: readonly AgUiMessage[]) => {
    for (const message of added) {
      const json = ascii(JSON.stringify(message));
      messages.push(json);
      held += json.length;
    }
    holdAnswer(response, held);
  };
  let unfinished: string | undefined;
  try {
    for await (const turn of new PastTurns(agent, owner, thread).all()) {
      add(userMessagesOf(turn, path));
      if (turn.goesOn) unfinished = turn.runId;
      else add(await answerTo(turn));
    }
  } catch (error) {
    if (error instanceof QueryError && error.code === 'not_found') return undefined;
    throw error;
  }
  return { messages, unfinished };
}

function userMessagesOf({ runId, parts }: PastTurn, path: string): AgUiMessage[] {
  const messages = parts.flatMap((part, index): AgUiMessage[] => {
    if (part.type === 'file' || !part.earlier) return [];
    return [{ id: `earlier_${runId}_${index}`, role: part.earlier, content: part.text }];
  });
  return [...messages, userMessageOf(runId, parts, path)];
}

/** AG-UI tells of a failure in an event only. */
async function answerTo({ runId, end, read }: PastTurn): Promise<AgUiMessage[]> {
  const { messages } = await read(() => new MessagesReader(runId));
  if (!end || end.status === 'completed') return messages;
  return [...messages, { id: `${runId}.done`, role: 'activity', activityType: 'done', content: end }];
}
