import type { InputKind, InputRequest, ResolvedInput } from 'nest-agent-query-client';
import { localTime } from '../local-time.js';
import { printable, printableJson, printableLine, shellWord } from '../printable.js';

/** The most characters of a line about a request. */
const LENGTH = 200;

/** A request for whoever decides: all of it, because they answer for what it does. */
export function textOfRequest(request: InputRequest): string {
  const { id, kind, message, name, arguments: given, url, expiresAt } = request;
  const lines = [
    `${kind} ${id}, until ${localTime(expiresAt)}`,
    // The text is that of an agent. No line of it looks like one of the others.
    printable(message).replace(/^/gm, '| '),
  ];
  if (name !== undefined) lines.push(`call: ${printableLine(name)}`);
  if (given !== undefined) lines.push(`arguments: ${printableJson(given)}`);
  if (url !== undefined) lines.push(`sign in at: ${printableLine(url)}`);
  return lines.join('\n');
}

/** How the requests are answered without this terminal. */
export function howToAnswer(runId: string, requests: readonly InputRequest[], after: number): string {
  const run = shellWord(runId);
  const each = requests.map((request) => {
    const command = `nest-agent-query answer ${run} ${shellWord(request.id)} ${flagsOf(request)}`;
    return `${textOfRequest(request)}\nTo answer: ${command}`;
  });
  const asks = `The run ${printableLine(runId)} asks, and goes on when it is answered.`;
  return [asks, ...each, `To read the rest: nest-agent-query follow ${run} --after ${after}`].join('\n');
}

/** A line for each request that was asked. */
export function noteOfRequests(requests: readonly InputRequest[]): string {
  return requests
    .map(({ id, kind, message }) => printableLine(`asks: ${kind} ${id}: ${message}`, LENGTH))
    .join('\n');
}

/** A line for each request that was resolved. */
export function noteOfAnswers(answers: readonly ResolvedInput[]): string {
  return answers
    .map(({ id, outcome, value }) => {
      const text = value === undefined ? '' : `: ${JSON.stringify(value)}`;
      return printableLine(`${outcome} ${id}${text}`, LENGTH);
    })
    .join('\n');
}

const FLAGS: Record<InputKind, string> = {
  approval: '--approve | --reject',
  input: '--value JSON',
  tool: `--value '{"content":JSON}'`,
  auth: `--value '{}'`,
};

function flagsOf({ kind, schema, editable }: InputRequest): string {
  const isText = schema === undefined || (typeof schema === 'object' && schema['type'] === 'string');
  if (kind === 'input' && isText) return '--text TEXT | --decline';
  return `${FLAGS[kind]}${editable ? ' | --arguments JSON' : ''} | --decline`;
}
