/** What every adapter whose framework can ask is tested for, by name. A table in `docs/agents.md` has a row for each. */
export const ASKING_CASES = {
  approve: 'An approved call is executed',
  refuse: 'A refused call is not, and the model reads why',
  unanswered: 'A call that nobody approves is not executed',
  edit: 'An approval changes the arguments',
  several: 'All questions of a step are asked at once',
  mixed: 'Of two calls of a step, one is approved and one is refused',
  again: 'A later step asks again',
  sameId: 'A call with the id of an approved one is asked about too',
  restart: 'A restart between question and answer: nothing is done twice',
  crash: 'A restart after the answer: no approved call is executed twice',
  callerTool: 'A call that the caller executes',
  superseded: 'History: calls that were refused, changed or superseded',
} as const;

export type AskingCase = keyof typeof ASKING_CASES;
