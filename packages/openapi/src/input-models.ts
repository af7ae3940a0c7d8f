import { type Member, model, optional, orNull, present, text, time } from './schemas.js';

/* What a run asks, and how it is answered. */

const anyJson = (description: string): Member => ({ ...optional({ description }) });
const ofStrings = (values: string[], description: string) =>
  ({ type: 'string', enum: values, description }) as const;

const VALUE = 'What the kind, and the `schema` of an `input`, ask for.';

const REQUEST: Record<string, Member> = {
  id: text('Names the request within its run.'),
  kind: ofStrings(['approval', 'input', 'tool', 'auth'], 'What is asked.'),
  message: text('What a person is asked.'),
  toolCallId: optional(text('The call that is to be made.')),
  name: optional(text('The name of the call.')),
  arguments: anyJson('The arguments of the call.'),
  editable: optional(present('Present where the answer may replace the arguments.')),
  schema: anyJson('A JSON Schema (draft 2020-12) that the answer must match. Without one it is a string.'),
  url: optional(text('Where the person signs in.')),
  private: optional(present('Present where the log does not have the value of the answer.')),
  hold: optional(present('Present where a newer query of the session does not take its place.')),
  expiresAt: time('When the request expires.'),
  onExpire: {
    description:
      'What happens then: the agent goes on without an answer, the run fails, or this is the answer.',
    oneOf: [
      { type: 'string', enum: ['decline', 'fail'] },
      { type: 'object', properties: { value: { description: 'Any JSON value.' } }, required: ['value'] },
    ],
  },
};

const RESOLUTION: Record<string, Member> = {
  outcome: ofStrings(
    ['answered', 'declined', 'expired', 'superseded', 'cancelled'],
    'What has become of the request.',
  ),
  value: anyJson(VALUE),
  by: orNull(text('The owner who has answered.')),
  at: time('When that was.'),
};

export const QueryInputRequest = model('QueryInputRequest', REQUEST);

export const QueryResolvedInput = model('QueryResolvedInput', {
  id: text('That of the request.'),
  ...RESOLUTION,
});

export const QueryInputAnswer = model('QueryInputAnswer', {
  id: text('That of the request.'),
  outcome: ofStrings(['answered', 'declined'], 'A refused approval is `answered`, with `approved` false.'),
  value: anyJson(VALUE),
});

const QueryInput = model('QueryInput', {
  runId: text('The run that asks.'),
  session: orNull(text('The session of the run.')),
  ...REQUEST,
  askedAt: time('When the run has asked.'),
  resolved: orNull({
    type: model('QueryInputResolution', RESOLUTION),
    description: 'Null while the request is open.',
  }),
});

export const QueryRunInputs = model('QueryRunInputs', {
  inputs: { type: [QueryInput], description: 'In the order in which the run has asked.' },
});

export const QueryInputList = model('QueryInputList', {
  inputs: { type: [QueryInput], description: 'Newest first.' },
  next: orNull(text('`after` of the next page; null at the end.')),
});
