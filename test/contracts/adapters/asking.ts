import { HandedOver, type Question } from '../../../src/query/index.js';
import type { TestContext } from '../../../src/testing/index.js';

/**
 * Answers what a handler asks by the question, because the keys of frameworks are not known before.
 *
 * @param valueOf the value of the answer; undefined: declined
 */
export function answering(
  context: TestContext,
  valueOf: (question: Question) => unknown,
): TestContext & { pauses: number } {
  const ask = context.ask.bind(context);
  const counted = Object.assign(context, { pauses: 0 });
  counted.ask = async (questions, options) => {
    counted.pauses += 1;
    const declined = await ask(questions, options);
    return declined.map((each, index) => {
      const value = valueOf(questions[index]!);
      return value === undefined ? each : { ...each, outcome: 'answered', value };
    });
  };
  return counted;
}

/**
 * Parks the run as soon as its handler asks.
 *
 * @param key parks it only with this question
 */
export function parking(context: TestContext, key?: string): TestContext {
  const ask = context.ask.bind(context);
  context.ask = async (questions, options) => {
    const answers = await ask(questions, options);
    if (key !== undefined && !questions.some((question) => question.key === key)) return answers;
    const reason = new HandedOver();
    context.abort(reason);
    throw reason;
  };
  return context;
}
