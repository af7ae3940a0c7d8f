import type { InputRequest, ResolvedInput, Turn } from 'nest-agent-query';
import { decisionOf } from './given-answers.js';

/** A tool call of an earlier answer, and its result. */
export interface AnsweredCall {
  id: string;
  name: string;
  /** An object: models refuse anything else, also where one has given something else. */
  arguments: Record<string, unknown>;
  /** What the tool has returned, any JSON. */
  result: unknown;
  isError: boolean;
}

/** A file of an earlier answer. */
export interface AnswerFile {
  name: string;
  mimeType: string;
  sha256: string;
}

/** What a model has said at once, and the tools that it has called then. */
export interface AnswerStep {
  text: string;
  /** What the model has thought before, if it has said so. */
  reasoning?: string;
  files: AnswerFile[];
  calls: AnsweredCall[];
}

type OpenCall = Omit<AnsweredCall, 'result' | 'isError'> & Partial<AnsweredCall>;

/**
 * An earlier answer as the steps in which a model has given it. A call without a result, of a run that was cut or of an answer
 * that was too long to be kept, is left out: models refuse such a history. A call that was approved with other arguments has those.
 *
 * @example
 * for (const { text, calls } of answerSteps(turn)) messages.push({ role: 'assistant', content: text, calls });
 */
export function answerSteps({ envelopes }: Pick<Turn, 'envelopes'>): AnswerStep[] {
  const steps: AnswerStep[] = [];
  const open = new Map<string, OpenCall>();
  const asked = new Map<string, OpenCall | undefined>();
  let step: AnswerStep | undefined;
  let hasResult = false;
  for (const { type, data } of envelopes) {
    const members = data as Record<string, unknown>;
    if (type === 'tool_result') {
      const call = open.get(members['id'] as string);
      if (call) Object.assign(call, { result: members['content'], isError: members['isError'] === true });
      open.delete(members['id'] as string);
      hasResult = true;
      continue;
    }
    if (type === 'input_required')
      for (const { id, toolCallId } of members['requests'] as InputRequest[])
        asked.set(id, open.get(toolCallId ?? ''));
    if (type === 'input_resolved')
      for (const answer of members['answers'] as ResolvedInput[]) changeCall(asked.get(answer.id), answer);
    if (!['message', 'reasoning', 'file', 'tool_call'].includes(type)) continue;
    // What comes after a result is the next step.
    if (!step || hasResult) steps.push((step = { text: '', files: [], calls: [] }));
    hasResult = false;
    if (type === 'message') step.text += String(members['content']);
    else if (type === 'reasoning') step.reasoning = (step.reasoning ?? '') + String(members['content']);
    else if (type === 'file') step.files.push(members as unknown as AnswerFile);
    else {
      const call = members as unknown as AnsweredCall;
      const kept = { id: call.id, name: call.name, arguments: objectOf(call.arguments) } as AnsweredCall;
      step.calls.push(kept);
      open.set(kept.id, kept);
    }
  }
  return steps
    .map((each) => ({ ...each, calls: each.calls.filter((call) => 'result' in call) }))
    .filter(isSaid);
}

function changeCall(call: OpenCall | undefined, answer: ResolvedInput): void {
  const { arguments: changed } = decisionOf(answer);
  if (call && changed) call.arguments = changed;
}

function isSaid({ text, files, calls }: AnswerStep): boolean {
  return text !== '' || files.length > 0 || calls.length > 0;
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
