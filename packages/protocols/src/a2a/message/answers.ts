import type { FieldError, InputAnswer, InputView } from 'nest-agent-query';
import { invalidQuery } from 'nest-agent-query/protocol';
import { isObject } from '../../view/json.js';
import { contentOf } from './parts.js';

/** Answers of a message, each with where the request has it. */
export interface PlacedAnswer {
  answer: InputAnswer;
  pointer: string;
}

const SHAPE =
  'must be {"id", "outcome": "answered" or "declined", "value"}, with the id of a request of the task';

/**
 * The answers that a message gives: those of its data parts, `{"answers": […]}`; or its text, if the newest pause of the task asks for
 * one string and nothing else. None if the message has neither: what it says answers nothing.
 *
 * @param inputs what the task has asked
 * @throws {QueryError} `invalid_query`
 */
export function answersOf(parts: readonly unknown[], inputs: readonly InputView[]): PlacedAnswer[] {
  const contents = parts.map(contentOf);
  const placed = contents.flatMap((content, index) => {
    const answers =
      content?.kind === 'data' && isObject(content.value) ? content.value['answers'] : undefined;
    const pointer = `/message/parts/${index}/data/answers`;
    return Array.isArray(answers)
      ? answers.map((answer: unknown, at) => ({ answer, pointer: `${pointer}/${at}` }))
      : [];
  });
  if (placed.length > 0) return checked(placed, inputs);
  const texts = contents.map((content) => (content?.kind === 'text' ? content.value : undefined));
  const asked = pauseOf(inputs);
  const [input] = asked;
  if (!input || asked.length > 1 || !isOfText(input) || texts.some((text) => typeof text !== 'string'))
    return [];
  const answer = { id: input.id, outcome: 'answered', value: texts.join('\n') } as const;
  return [{ answer, pointer: '/message/parts' }];
}

function checked(
  placed: readonly { answer: unknown; pointer: string }[],
  inputs: readonly InputView[],
): PlacedAnswer[] {
  const ids = placed.map(({ answer }) => (isObject(answer) ? answer['id'] : undefined));
  const faults = placed.flatMap(({ answer, pointer }, index): FieldError[] => {
    const { outcome } = isObject(answer) ? answer : {};
    const isKnown = inputs.some(({ id }) => id === ids[index]);
    if (!isKnown || (outcome !== 'answered' && outcome !== 'declined')) return [{ pointer, detail: SHAPE }];
    if (ids.indexOf(ids[index]) === index) return [];
    return [{ pointer, detail: 'must be the only answer to its request' }];
  });
  if (faults.length > 0) throw invalidQuery(faults);
  return placed.map(({ answer, pointer }) => {
    const { id, outcome, value } = answer as InputAnswer;
    return { answer: { id, outcome, ...(value !== undefined && { value }) }, pointer };
  });
}

/** The requests of the newest pause: those that were asked together. */
function pauseOf(inputs: readonly InputView[]): readonly InputView[] {
  const askedAt = inputs.at(-1)?.askedAt;
  return inputs.filter((input) => input.askedAt === askedAt);
}

function isOfText({ kind, schema }: InputView): boolean {
  return kind === 'input' && (schema === undefined || (isObject(schema) && schema['type'] === 'string'));
}
