import { type AgentQueryClient, AgentQueryError, type Answer, type InputView } from 'nest-agent-query-client';
import { sentencesOf } from '../failures.js';
import type { Outputs } from '../outputs.js';
import { checked, isPage } from '../response-form.js';
import { answerOfPerson } from './dialogue.js';
import { isPersonThere, Person, PersonLeft } from './person.js';
import { howToAnswer, textOfRequest } from './request-text.js';

/** What may be asked about the requests of runs. */
export type InputCalls = Pick<AgentQueryClient, 'inputs'>;

/** The request needs no answer any more. */
const TOO_LATE = ['input_resolved', 'input_expired', 'run_ended'];

/**
 * Returns what a run has asked.
 *
 * @throws {AgentQueryError} `not_found` · `invalid_response`: something else than the service has answered
 */
export async function inputsOf(client: InputCalls, runId: string): Promise<InputView[]> {
  const list = await client.inputs(runId);
  const isKnown = ({ inputs }: typeof list) => isPage(inputs, null, ['runId', 'id', 'kind', 'message']);
  return checked(list, isKnown).inputs;
}

/**
 * What a command does where an answer asks: it asks the person at the terminal, or says how to answer.
 *
 * @param canAsk whether a person may be asked, if there is one
 * @returns `over`: what was asked there is resolved · `answered`: the answer goes on · `left`: the run stays as it is
 */
export async function passPause(
  client: InputCalls,
  answer: Answer,
  outputs: Outputs,
  canAsk: boolean,
): Promise<'over' | 'answered' | 'left'> {
  const runId = await answer.runId;
  const open = (await inputsOf(client, runId)).filter(({ resolved }) => resolved === null);
  if (open.length === 0) return 'over';
  const left = canAsk && isPersonThere() ? await askPerson(answer, open, outputs) : open;
  if (left.length === 0) return 'answered';
  outputs.note(howToAnswer(runId, left, answer.after));
  return 'left';
}

/** @returns the requests that the person leaves open; none if the answer goes on */
async function askPerson(answer: Answer, open: InputView[], outputs: Outputs): Promise<InputView[]> {
  const person = new Person(outputs);
  let answered = 0;
  try {
    for (const request of open) {
      await person.say(textOfRequest(request));
      await respond(answer, request, person);
      answered += 1;
    }
  } catch (error) {
    if (!(error instanceof PersonLeft)) throw error;
    // What a signal does to the run is up to the command. The answer tells what has become of it.
    if (!error.isInterruption) return open.slice(answered);
  } finally {
    person.close();
  }
  outputs.showStatus('Waiting for the answer');
  return [];
}

/** Sends what a person answers, and asks again where the service does not take it. */
async function respond(answer: Answer, request: InputView, person: Person): Promise<void> {
  for (;;) {
    try {
      await answer.respond([await answerOfPerson(request, person)]);
      return;
    } catch (error) {
      if (!(error instanceof AgentQueryError)) throw error;
      const isLate = TOO_LATE.includes(error.code);
      if (!isLate && error.code !== 'invalid_answer') throw error;
      await person.say(sentencesOf(error));
      if (isLate) return;
    }
  }
}
