import type { Column } from '../matrix/proxies/words.js';

const YES = { no: 'none of this' };

const CANCEL = {
  yes: 'the cancel is acknowledged with 200, and no process of the agent is there after it',
  late: 'it is acknowledged with 202, and no process is there a moment later',
  left: 'a process is left',
};

const FAILURE = {
  rate_limited: 'the run fails with this code',
  unavailable: 'the run fails with this code',
  handler_failed: 'the run fails with this code',
  interrupted: 'the run fails with this code',
  completed: 'the run is completed, and the answer has the error or a part of the text',
  repeats: 'the agent repeats the request for more than 40 s; the run was cancelled then',
  'twice, ': 'the text before it is said a second time',
};

/** What is done with each agent, in the order of the table. */
export const COLUMNS: Record<string, Column> = {
  stream: {
    heading: 'Stream',
    words: {
      yes: 'each piece of the answer arrives when the model has sent it',
      'at the end': 'all at once',
    },
  },
  tool: {
    heading: 'Tool shown',
    words: { yes: 'one `tool_call` that says what is executed, and one `tool_result` after it', ...YES },
  },
  approve: {
    heading: 'Approve',
    words: {
      once: 'a person is asked, and the command is executed once and after that',
      unasked: 'nobody is asked',
      no: 'it is not executed',
    },
  },
  decline: {
    heading: 'Decline',
    words: {
      'goes on': 'it is not executed; the model is told, and says something',
      ends: 'it is not executed, and the answer ends',
      executed: 'it is executed',
    },
  },
  edit: {
    heading: 'Edit',
    words: {
      changed: 'the person changes the command; the changed one is executed once, and the first one is not',
      cannot: 'the question does not let a person change it',
      no: 'the first one is executed, or none',
    },
  },
  answering: { heading: 'Cancel: answering', words: CANCEL },
  asking: { heading: 'Cancel: asking', words: CANCEL },
  executing: { heading: 'Cancel: command', words: CANCEL },
  turns: {
    heading: 'Second turn',
    words: {
      yes: 'with a second question the model sees the first one too',
      no: 'it sees the second one only',
    },
  },
  killed: {
    heading: 'Killed',
    words: {
      once: 'the service is killed while it asks, and starts again; the answer then executes the command once',
      'asks again': 'the same, and a person is asked a second time',
      'not executed': 'the command is not executed',
      twice: 'it is executed more than once',
    },
  },
  owners: {
    heading: 'Owners',
    words: { apart: 'two owners have two home folders and two folders of work', shared: 'they share one' },
  },
  status401: { heading: '401', words: FAILURE },
  status429: { heading: '429', words: FAILURE },
  status500: { heading: '500', words: FAILURE },
  cut: { heading: 'Cut', words: FAILURE },
  left: {
    heading: 'Left',
    words: { nothing: 'when all has ended, no process of the agent is there', processes: 'one is left' },
  },
};
