/** What every adapter is tested for, by name. The table of adapters in `docs/agents.md` has a row for each. */
export const ADAPTER_CASES = {
  text: 'Text, as it comes',
  reasoning: 'Reasoning, with its id',
  toolCall: 'Tool calls and their results',
  toolError: 'A tool that throws',
  sources: 'Sources',
  usage: 'Usage of each step, with the model',
  fileIn: 'Files in: an image and a PDF',
  fileOut: 'Files out',
  repeatedIds: 'Calls with an id that the session has had',
  callInText: 'A tool call in the middle of the text',
  cutInCall: 'A cut in the middle of a tool call',
  cancel: 'A cancel in the middle of a token',
  secondTurn: 'A second turn that needs the result of the tool of the first',
  history: 'History: texts and files of earlier turns',
  failedQuestion: 'A question that failed before its answer is not sent again',
  failedAnswer: 'Of an answer that failed, the text is sent again, and no file',
  contextTokens: 'The oldest turns are left out beyond `contextTokens`',
  erasure: 'The memory is erased with the session',
  checkpoint: 'A checkpoint after each step, and a restart from it',
  errors: 'Errors of the model as what they are',
  backPressure: 'Nothing is pulled from the model when nobody reads',
} as const;

export type AdapterCase = keyof typeof ADAPTER_CASES;
