import { linesForLog } from 'nest-agent-query/agents';
import type { Question, ResolvedInput } from 'nest-agent-query';
import { decisionOf, questionKey, withoutFolder } from 'nest-agent-query-adapters';
import { objectOf } from './tool-view.js';

/** A call that waits for a person. */
export interface WaitingCall {
  id: string;
  name: string;
  input: unknown;
}

/** What becomes of such a call. */
export type Decision = { id: string } & (
  { isAllowed: true; input?: Record<string, unknown> } | { isAllowed: false; reason: string }
);

/** The tool with which Claude asks the user. */
export const ASKING_TOOL = 'AskUserQuestion';

const MESSAGE_LENGTH = 2_000;

/**
 * The questions about a call: whether it may be made, or what Claude asks the user.
 *
 * @param taken the keys of the run's earlier questions
 * @param cwd the working directory: people read paths in it without it
 */
export function questionsOf(call: WaitingCall, taken: readonly string[], cwd: string): Question[] {
  if (call.name !== ASKING_TOOL) return [approvalOf(call, questionKey(call.id, taken), cwd)];
  const keys = [...taken];
  return askedBy(call).map((asked) => {
    const key = questionKey(call.id, keys);
    keys.push(key);
    const labels = optionsOf(asked);
    const choice = labels.length > 0 ? { type: 'string', enum: labels } : { type: 'string' };
    const schema = asked['multiSelect'] === true ? { type: 'array', items: choice } : choice;
    return { key, kind: 'input', message: textOf(asked), toolCallId: call.id, schema };
  });
}

/** What the answers to these questions mean. */
export function decisionAbout(call: WaitingCall, answers: ResolvedInput[]): Decision {
  const { id, name, input } = call;
  if (name !== ASKING_TOOL) {
    const { isApproved, arguments: changed, reason } = decisionOf(answers[0]!);
    if (!isApproved) return { id, isAllowed: false, reason: reason! };
    return { id, isAllowed: true, ...(changed && { input: changed }) };
  }
  const silent = answers.find(({ value }) => value === undefined);
  if (silent) return { id, isAllowed: false, reason: decisionOf(silent).reason! };
  // The SDK wants the answers by the texts of the questions, and several of one question with commas.
  const given = askedBy(call).map((asked, index) => {
    const { value } = answers[index]!;
    return [asked['question'], Array.isArray(value) ? value.join(', ') : value];
  });
  return { id, isAllowed: true, input: { ...objectOf(input), answers: Object.fromEntries(given) } };
}

function approvalOf({ id, name, input }: WaitingCall, key: string, cwd: string): Question {
  const { description, command, file_path: path, url } = objectOf(input);
  const about = [command, path, url, description].find((each) => typeof each === 'string' && each !== '');
  const said =
    about === undefined
      ? `May ${name} be called?`
      : `${name}: ${linesForLog(withoutFolder(about as string, cwd))}`;
  const message = said.slice(0, MESSAGE_LENGTH);
  return { key, kind: 'approval', message, toolCallId: id, name, arguments: input, editable: true };
}

function askedBy({ input }: WaitingCall): Record<string, unknown>[] {
  const { questions } = objectOf(input);
  return Array.isArray(questions) ? questions.map(objectOf).filter(isNamed) : [];
}

function isNamed({ question }: Record<string, unknown>): boolean {
  return typeof question === 'string' && question !== '';
}

function optionsOf({ options }: Record<string, unknown>): string[] {
  const labels = Array.isArray(options) ? options.map((option) => objectOf(option)['label']) : [];
  return labels.filter((label) => typeof label === 'string');
}

/** The question, and what its options mean. */
function textOf({ question, options }: Record<string, unknown>): string {
  const meanings = (Array.isArray(options) ? options.map(objectOf) : [])
    .filter(({ description }) => typeof description === 'string' && description !== '')
    .map(({ label, description }) => `\n- ${String(label)}: ${String(description)}`);
  return `${String(question)}${meanings.join('')}`.slice(0, MESSAGE_LENGTH);
}
