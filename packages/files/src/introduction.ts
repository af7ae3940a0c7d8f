import { message, suggestions } from 'nest-agent-query';
import type { Suggestion, Turn } from 'nest-agent-query';
import { code } from './markdown.js';
import { SAMPLE } from './sample.js';

const MODEL =
  'A model answers questions, and has these requests as its tool: start the service with ' +
  '`MODEL_BASE_URL=http://127.0.0.1:11434/v1 MODEL=llama3.2 npm start` (docs/agents.md).';

/** What this agent can do, for who has sent no file yet. */
export const INTRODUCTION = [
  message(
    [
      'This agent reads files, without a model and without network:',
      '- Send a file, and it says what is in it: tables, PDF and Office documents, archives, images, sound, e-mails, code.',
      '- Ask about tables in SQL: `select city, count(*) from orders group by city`, `summarize orders`. ' +
        'With `as csv`, `as json` or `as parquet` at its end, the answer is a file, and with `as chart` an image.',
      '- Look into documents: `find "annual report"`, `page 3`, `outline`, `text`. Files of earlier turns stay known.',
      `- It does not read language. ${MODEL}\n`,
    ].join('\n'),
  ),
  suggestions([
    { text: 'describe', label: 'What is in a sample file, orders.csv?', files: [SAMPLE] },
    {
      text: 'select city, count(*) as orders, sum(amount) as total from orders group by city order by total desc',
      label: 'Orders by city, in SQL',
      files: [SAMPLE],
    },
  ]),
];

/**
 * The answer to a question. The requests that fit the files are suggested: a text has the best one only, for clients that show no
 * suggestions.
 *
 * @param isFirst whether the conversation does not say yet that a model answers questions
 */
export function noLanguage(requests: Suggestion[], isFirst: boolean): string {
  const [best] = requests;
  const offer = best ? ` The nearest one is ${code(best.text, 300)}.` : '';
  return `This agent does not read language, it answers requests.${offer}\n${isFirst ? `\n${MODEL}\n` : ''}`;
}

/** Whether an answer of the conversation says already that a model answers questions. */
export function isToldOfModel(history: readonly Pick<Turn, 'text'>[]): boolean {
  return history.some(({ text }) => text.includes(MODEL));
}
