import { isApproved, type Question, type ResolvedInput } from 'nest-agent-query';
import { questionKey } from 'nest-agent-query-adapters';
import { argumentsOf, type KnownCall } from './known-call.js';
import { itemsOf, membersOf, textIn } from './members.js';

/** The outcome of `session/request_permission`. */
export type PermissionOutcome = { outcome: 'selected'; optionId: string } | { outcome: 'cancelled' };

interface Option {
  id: string;
  kind: 'allow_once' | 'reject_once';
  name: string;
}

const CANCELLED: PermissionOutcome = { outcome: 'cancelled' };
const OPTIONS = 50;
const NAME_LENGTH = 200;
const ARGUMENTS_LENGTH = 200;

/**
 * The question to a person about a permission: an `approval`, or an `input` with the names of the options if they are more than a
 * yes and a no.
 *
 * @param params of the request `session/request_permission`
 * @param call as `Translation.asked` returns it
 * @param taken the keys that the run has used before
 * @returns undefined if no answer can allow the call: cancel the request
 */
export function questionOf(
  params: unknown,
  call: KnownCall,
  taken: readonly string[] = [],
): Question | undefined {
  const options = optionsOf(params);
  if (!options.some(isYes)) return undefined;
  const message = call.title ?? aboutOf(call);
  const about = { key: questionKey(call.id, taken), message, toolCallId: call.id };
  if (isChoice(options))
    return { ...about, kind: 'input', schema: { enum: options.map(({ name }) => name) } };
  return { ...about, kind: 'approval', name: call.name, arguments: argumentsOf(call) };
}

/**
 * What the agent is answered. Whatever is no clear yes is a no.
 *
 * @param answer of a person, or a decision of the service: true or false
 */
export function outcomeOf(params: unknown, answer: ResolvedInput | boolean): PermissionOutcome {
  const options = optionsOf(params);
  const chosen = options.find((option) => isChosen(option, answer, options));
  const selected = chosen ?? options.find(({ kind }) => kind === 'reject_once');
  return selected ? { outcome: 'selected', optionId: selected.id } : CANCELLED;
}

function isChosen(option: Option, answer: ResolvedInput | boolean, options: Option[]): boolean {
  if (typeof answer === 'boolean') return answer && isYes(option);
  if (isChoice(options)) return answer.outcome !== 'cancelled' && option.name === answer.value;
  return isApproved(answer) && isYes(option);
}

/**
 * The options that may be chosen, each with a name of its own. What is allowed always is none: agents keep it beyond the session, or
 * for other sessions.
 */
function optionsOf(params: unknown): Option[] {
  const names: string[] = [];
  return itemsOf(membersOf(params)['options'], OPTIONS).flatMap((item) => {
    const { optionId, kind, name } = membersOf(item);
    if (typeof optionId !== 'string' || (kind !== 'allow_once' && kind !== 'reject_once')) return [];
    const shown = questionKey((textIn(name) ?? optionId).slice(0, NAME_LENGTH), names);
    names.push(shown);
    return [{ id: optionId, kind, name: shown }];
  });
}

function isYes({ kind }: Option): boolean {
  return kind === 'allow_once';
}

function isChoice(options: Option[]): boolean {
  return ['allow_once', 'reject_once'].some(
    (kind) => options.filter((each) => each.kind === kind).length > 1,
  );
}

/** Says what a call without a title is about. */
function aboutOf(call: KnownCall): string {
  const json = JSON.stringify(argumentsOf(call));
  const shown = json.length > ARGUMENTS_LENGTH ? `${json.slice(0, ARGUMENTS_LENGTH)}…` : json;
  const withThese = json === '{}' ? '' : ` with ${shown}`;
  return `May the agent call the tool ${JSON.stringify(call.name)}${withThese}?`;
}
