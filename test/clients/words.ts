import { ARROW, type Column } from '../matrix/proxies/words.js';

/** The cases that a cell names. */
const CASES = {
  early: 'a run that fails before its first output',
  late: 'a run that fails after it',
  whole: 'the same as `early`, where the client asks for the whole answer and not for a stream',
  key: 'a wrong key, refused with 401',
  reset: 'the connection is reset before the answer has begun',
  'reset whole': 'the same, where the client asks for the whole answer',
  cut: 'the connection is reset in mid-answer',
};

const { early, late, whole, key } = CASES;

const NONE = { '–': 'the client has nothing for it, or it was not asked' };

/** What is asked of a client, in the order of the tables. */
export const COLUMNS: Record<string, Column> = {
  stream: {
    heading: 'Stream',
    words: {
      yes: 'the client shows each piece of the answer when the agent has written it',
      'at the end': 'it shows the answer when the agent has ended',
      'pieces repeated': 'what it shows piece by piece is not the answer',
      no: 'it does not get the answer',
      ...NONE,
    },
  },
  files: {
    heading: 'Files',
    words: {
      image: 'the agent gets a PNG picture, byte by byte',
      PDF: 'the agent gets a PDF file',
      CSV: 'the agent gets a CSV file',
      none: 'the agent gets none of the three',
      ...NONE,
    },
  },
  turns: {
    heading: 'Second turn',
    words: {
      yes: 'with a second question, the agent gets this one alone, and the first with its answer as history',
      no: 'it gets something else, or there is an error',
      ...NONE,
    },
  },
  errors: {
    heading: 'Errors shown',
    words: {
      all: 'the message of the error has the sentence of the agent or of the service',
      'no reason': 'there is an error, and its message has not that sentence',
      hidden: 'there is no error: the answer looks complete',
      waits: 'there is neither an answer nor an error: it is silent for 12 s, or tries again for 30 s',
      early,
      late,
      whole,
      key,
    },
  },
  cut: {
    heading: 'Cut',
    words: {
      error: 'a connection that is reset in mid-answer is an error',
      resumes: 'the client gets the rest, each piece once',
      twice: 'the client shows what it has had a second time',
      'asks again': 'it sends the query again, and the agent is executed a second time',
      hidden: 'there is no error, and the answer looks complete',
      waits: 'the client is silent for 12 s, or tries again for 30 s',
      unhandled: 'besides, a promise of the package is rejected, and nobody can handle it',
      ...NONE,
    },
  },
  runs: {
    heading: 'Runs of the agent',
    words: {
      once: 'the agent is executed once in each case',
      again: 'it is executed a second time, or more often',
      ...CASES,
    },
  },
  after: {
    heading: 'After the end',
    words: {
      quiet: 'at most one request within 5 s',
      'asks on': 'it asks again and again',
      ...NONE,
    },
  },
  abort: {
    heading: 'Abort',
    words: {
      cancels: 'the agent is stopped at once',
      closes: 'the connection is closed, and the disconnect policy decides',
      'goes on': 'neither within 3 s',
      ...NONE,
    },
  },
  questions: {
    heading: 'Questions',
    words: {
      answered: 'an approval is asked for, given, and the agent goes on',
      no: 'the agent gets no answer',
      ...NONE,
    },
  },
  usage: {
    heading: 'Usage',
    words: { yes: 'the client gets the tokens of the answer', no: 'it does not', ...NONE },
  },
};

/** What a cell says that its column does not have. */
export function unknownWordsIn(column: Column, cell: string): string[] {
  const words = cell.split(ARROW).flatMap((text) => text.split(/; |: |, /));
  return words.filter((word) => !Object.hasOwn(column.words, word));
}
