import { Command, InvalidArgumentError } from 'commander';
import type { AgentQueryClient, InputAnswer, RunView } from 'nest-agent-query-client';
import { inputsOf } from './asking/pause.js';
import { UsageError } from './failures.js';
import { showRun } from './follow.js';
import { write } from './outputs.js';
import { printableJson, printableLine } from './printable.js';
import { checked, hasTexts } from './response-form.js';
import { connect } from './service.js';

/** What the command line says of an answer. */
interface GivenAnswer {
  approve?: true;
  reject?: true;
  decline?: true;
  arguments?: Record<string, unknown>;
  reason?: string;
  value?: { json: unknown };
  text?: string;
}

interface AnswerCommandOptions extends GivenAnswer {
  follow?: true;
  json?: true;
}

const AFTER_HELP = `
Give one of --approve, --reject, --arguments, --value, --text and --decline. Which one a request takes, the command
inputs and the kind of the request say: an approval takes the first three, an input a value or a text.

Examples:
  $ nest-agent-query inputs
  $ nest-agent-query answer 89c87239-c6d2-4978-9b3d-37b421b5c015 --approve --follow
  $ nest-agent-query answer 89c87239-c6d2-4978-9b3d-37b421b5c015 refund-881 --reject --reason "Too much."
  $ nest-agent-query answer 89c87239-c6d2-4978-9b3d-37b421b5c015 quarter --text Q1
`;

/** `nest-agent-query answer`: answers a request of a run that asks. */
export function answerCommand(): Command {
  return new Command('answer')
    .summary('Answer a run that asks.')
    .description('Answer a request of a run that asks.')
    .argument('<run>', 'the id of the run')
    .argument('[request]', 'the id of the request; may be left out if only one is open')
    .option('--approve', 'the call may be made')
    .option('--arguments <json>', 'the call may be made with these arguments: a JSON object', objectOf)
    .option('--reject', 'the call may not be made')
    .option('--reason <text>', 'why, for the agent: with --approve, --arguments or --reject')
    .option('--value <json>', 'the value of the answer', jsonOf)
    .option('--text <text>', 'the value of the answer: this text')
    .option('--decline', 'give no answer')
    .option('--follow', 'print how the answer of the run goes on')
    .option('--json', 'print the run as a line of JSON; with --follow, every envelope of the answer')
    .addHelpText('after', AFTER_HELP)
    .action(answer);
}

async function answer(
  runId: string,
  id: string | undefined,
  { follow, json, ...given }: AnswerCommandOptions,
  command: Command,
): Promise<void> {
  const content = contentOf(given);
  const client = connect(command);
  const request = id ?? (await onlyOpen(client, runId));
  const response = await client.answer(runId, [{ id: request, ...content }]);
  const run = checked(response, (each) => hasTexts(each, ['id', 'status']));
  if (follow) return showRun(client, runId, { after: run.events, ...(json && { json }) });
  await write(process.stdout, `${json ? printableJson(run) : sentenceOf(run, request)}\n`);
}

/** @throws {UsageError} the options say no answer, or more than one */
function contentOf(given: GivenAnswer): Omit<InputAnswer, 'id'> {
  const { arguments: replaced, reason, value, text } = given;
  const why = reason === undefined ? {} : { reason };
  const approves = given.approve ?? replaced !== undefined;
  const contents: Omit<InputAnswer, 'id'>[] = [];
  const add = (answered: unknown) => contents.push({ outcome: 'answered', value: answered });
  if (approves) add({ approved: true, ...(replaced && { arguments: replaced }), ...why });
  if (given.reject) add({ approved: false, ...why });
  if (value !== undefined) add(value.json);
  if (text !== undefined) add(text);
  if (given.decline) contents.push({ outcome: 'declined' });
  const [content, ...others] = contents;
  if (!content)
    throw new UsageError(
      'There is no answer. Give one of --approve, --reject, --arguments, --value, --text and --decline.',
    );
  if (others.length > 0) throw new UsageError('There is more than one answer. Give one.');
  if (reason !== undefined && !approves && !given.reject)
    throw new UsageError(
      'Only an approval has a reason: --reason is for --approve, --arguments and --reject.',
    );
  return content;
}

/** @throws {UsageError} the run has no open request, or several */
async function onlyOpen(client: AgentQueryClient, runId: string): Promise<string> {
  const inputs = await inputsOf(client, runId);
  const [first, ...others] = inputs.filter(({ resolved }) => resolved === null);
  if (!first) throw new UsageError(`The run ${runId} has no open request.`);
  if (others.length === 0) return first.id;
  const ids = [first, ...others].map(({ id }) => id).join(', ');
  throw new UsageError(`The run ${runId} has several open requests. Name one of them: ${ids}`);
}

function sentenceOf({ id, status }: RunView, request: string): string {
  const state = status === 'input_required' ? 'still asks' : `is ${status}`;
  return printableLine(`The answer to ${request} was accepted. The run ${id} ${state}.`);
}

function jsonOf(text: string): { json: unknown } {
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    throw new InvalidArgumentError(`It must be JSON. A text is '"text"', or --text.`);
  }
}

function objectOf(text: string): Record<string, unknown> {
  const { json } = jsonOf(text);
  if (typeof json === 'object' && json !== null && !Array.isArray(json))
    return json as Record<string, unknown>;
  throw new InvalidArgumentError('It must be a JSON object.');
}
