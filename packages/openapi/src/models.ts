import type { Type } from '@nestjs/common';
import { SHAPES } from 'nest-agent-query/protocol';
import { QueryInputRequest, QueryResolvedInput } from './input-models.js';
import {
  count,
  digest,
  type Member,
  model,
  optional,
  orNull,
  present,
  RUN_STATUSES,
  text,
  time,
  unionOf,
} from './schemas.js';

/*
 * The JSON of the interface as schemas of the document. Each name begins with `Query`, so that it is unlikely that a host has a
 * model of the same name.
 */

/** The model of an envelope of one type. */
function envelope(type: string, description: string, data: Member): Type {
  const words = type.split('_').map((word) => word[0]!.toUpperCase() + word.slice(1));
  return model(`Query${words.join('')}Envelope`, {
    type: { type: 'string', enum: [type], description },
    data,
  });
}

/** The data of the types that have models. */
const DATA: Record<string, Member> = {
  input_required: {
    type: model('QueryInputRequiredData', { requests: { type: [QueryInputRequest], minItems: 1 } }),
  },
  input_resolved: { type: model('QueryInputResolvedData', { answers: { type: [QueryResolvedInput] } }) },
};

const STANDARD = [...SHAPES].map(([type, shape]) => {
  const members = { ...shape.required, ...shape.optional };
  const properties = Object.fromEntries(Object.entries(members).map(([name, { schema }]) => [name, schema]));
  const data = { type: 'object', properties, required: Object.keys(shape.required) } as Member;
  return {
    type,
    isOfTurn: shape.isOfTurn !== false,
    model: envelope(type, shape.description, DATA[type] ?? data),
  };
});

/** The envelopes that a turn keeps, by their types. */
export const TURN_ENVELOPES = Object.fromEntries(
  STANDARD.filter(({ isOfTurn }) => isOfTurn).map(({ type, model: ofTurn }) => [type, ofTurn]),
);

const QueryFailure = model('QueryFailure', {
  code: { ...text(), example: 'handler_failed' },
  message: text('A sentence for people.'),
});

const failure = optional({ type: QueryFailure, description: 'Present where the run has failed.' });

const QueryRunEnd = model('QueryRunEnd', {
  status: { type: 'string', enum: ['completed', 'failed', 'cancelled'] },
  error: failure,
});

/** All envelopes of a stream. */
export const ENVELOPES = [
  ...STANDARD.map(({ model: standard }) => standard),
  envelope('done', 'The end of the stream: a stream without it was cut.', { type: QueryRunEnd }),
  model('QueryOtherEnvelope', {
    type: text('Ignore the types that you do not know.'),
    data: { description: 'Any JSON value.' },
  }),
];

export const QueryTextPart = model('QueryTextPart', {
  type: { type: 'string', enum: ['text'] },
  text: text(),
});

export const QueryFilePart = model('QueryFilePart', {
  type: { type: 'string', enum: ['file'] },
  name: {
    ...text('A label with its extension, never a path: at most 255 bytes.'),
    minLength: 1,
    maxLength: 255,
    example: 'notes.txt',
  },
  mimeType: { ...text(), maxLength: 255, example: 'text/plain' },
  base64: optional({
    ...text('RFC 4648 §4, without line breaks. Required unless the part has `sha256`.'),
    format: 'byte',
  } as const),
  sha256: optional(digest('In place of `base64`: the digest of a file that you have sent before.')),
});

export const QuerySentFile = model('QuerySentFile', {
  sha256: digest('A file part has it in place of `base64`.'),
  size: count('Bytes.'),
  name: text(),
  mimeType: text(),
  expiresAt: time('When it expires if no query uses it.'),
});

/** Texts by their names. */
export const METADATA = {
  type: 'object' as const,
  maxProperties: 16,
  additionalProperties: { type: 'string' as const, maxLength: 512 },
};

export const QueryRun = model('QueryRun', {
  id: text(),
  status: { type: 'string', enum: RUN_STATUSES },
  session: orNull(text('kwargs.session_id of the query.')),
  createdAt: time('When the query was admitted.'),
  startedAt: orNull(time('When the handler was called.')),
  endedAt: orNull(time('When the run ended.')),
  events: count('The envelopes so far, `done` included.'),
  metadata: { ...METADATA, selfRequired: false, description: 'Of the query; absent if it has none.' },
  error: failure,
});

/** Of a text that a page shows cut. */
const CUT_TEXT = {
  truncated: optional(present('Present where only the beginning of the text is shown.')),
  size: optional(count('Bytes of the whole text as UTF-8.')),
  sha256: optional(digest('Of the whole text as UTF-8; names it among the files of the run.')),
};

export const QueryTurnText = model('QueryTurnText', {
  type: { type: 'string', enum: ['text'] },
  text: text(),
  earlier: optional({
    ...text('Who wrote a text that is older than the query.'),
    enum: ['user', 'assistant'],
  }),
  ...CUT_TEXT,
});

export const QueryTurnFile = model('QueryTurnFile', {
  type: { type: 'string', enum: ['file'] },
  name: text(),
  mimeType: text(),
  size: count('Bytes.'),
  sha256: digest(),
});

const QueryTurn = model('QueryTurn', {
  runId: text(),
  parts: { type: 'array', items: unionOf('type', { text: QueryTurnText, file: QueryTurnFile }) },
  text: text('The text of the answer.'),
  ...CUT_TEXT,
  envelopes: {
    type: 'array',
    items: unionOf('type', TURN_ENVELOPES),
    description:
      'Neighbouring parts of a message are one. Where `text` is cut, the contents of the messages end where it ends.',
  },
  envelopesTruncated: optional(
    present('Present where the answer has more envelopes: a turn keeps 1 MiB of them.'),
  ),
  end: { type: QueryRunEnd },
  createdAt: time('When the query was admitted.'),
  endedAt: time('When the run ended.'),
});

const next = orNull(text('`after` of the next page; null at the end.'));
const active = orNull(text('The id of the run that executes.'));
const asking = orNull(text('The id of the run that asks.'));

export const QueryRunList = model('QueryRunList', {
  runs: { type: [QueryRun], description: 'Newest first.' },
  next,
});

export const QuerySession = model('QuerySession', {
  id: text(),
  title: { ...orNull(text('The beginning of its first text.')), maxLength: 80 },
  turns: count('The number of its newest turn.'),
  updatedAt: time('When it was last used.'),
  active,
  asking,
});

export const QueryFork = model('QueryFork', {
  afterTurn: count('How many turns the new session begins with.'),
  session_id: {
    ...optional(orNull(text('The id of the new session. Without it, a random one.'))),
    minLength: 1,
    maxLength: 255,
  },
});

export const QuerySessionList = model('QuerySessionList', {
  sessions: { type: [QuerySession], description: 'Last used first.' },
  next,
});

export const QuerySessionPage = model('QuerySessionPage', {
  id: text(),
  active,
  asking,
  waiting: count('How many runs wait in its queue.'),
  turns: { type: [QueryTurn], description: 'Oldest first.' },
  next: orNull(count('`after` of the next page; null at the end.')),
});

const QueryUsageSum = model('QueryUsageSum', {
  day: optional({ type: 'string', format: 'date', description: '`by=day`: the day, in UTC.' }),
  model: optional(orNull(text('`by=model`: its name; null for usage that names none.'))),
  session: optional(orNull(text('`by=session`: its id; null without one, or if it is no longer kept.'))),
  runs: count('Runs whose first usage is here.'),
  inputTokens: count('What the models were given.'),
  outputTokens: count('What they have answered.'),
  reasoningTokens: count('What they have reasoned.'),
  cachedInputTokens: count('What they were given from a cache.'),
  price: optional({ type: 'number', minimum: 0, description: 'Present where the host has prices.' }),
});

export const QueryUsageList = model('QueryUsageList', {
  usage: { type: [QueryUsageSum], description: 'Last used first.' },
  next,
});

const QueryFieldError = model('QueryFieldError', {
  pointer: { ...text('A JSON Pointer (RFC 6901).'), example: '/parts/0/base64' },
  detail: { ...text(), example: 'must be a string' },
});

/** RFC 9457. */
export const QueryProblem = model('QueryProblem', {
  type: { ...text(), example: 'about:blank' },
  title: text('The phrase of the status.'),
  status: { type: 'integer' },
  detail: text('A sentence for people.'),
  code: text('Tells the errors apart. Codes are added, never changed.'),
  errors: optional({ type: [QueryFieldError], description: 'All faults of the body.' }),
  limit: optional(text('`limit_exceeded`: the name of the limit.')),
  value: optional({ type: 'number', description: '`limit_exceeded`: its value.' } as const),
  part: optional(count('`limit_exceeded`: the index of the part.')),
  oldest: optional(count('`cursor_expired`: the oldest event that is kept.')),
  latest: optional(count('`cursor_expired`: the newest event.')),
  answers: optional({
    type: [QueryResolvedInput],
    description: '`input_resolved`, `input_expired`: what has become of the requests.',
  } as const),
  size: optional(count('`range_not_satisfiable`: the bytes of the file.')),
});
