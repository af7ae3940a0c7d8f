import type { InputRequest, UsageEnvelope } from 'nest-agent-query';
import type { LogText } from 'nest-agent-query/protocol';

interface Item {
  /** Which item of its run it is, from 0. */
  number: number;
  /** The envelope that it begins with. */
  seq: number;
}

/** A text of an answer, or the reasoning before it. */
export interface TextItem extends Item {
  type: 'message' | 'reasoning';
  /** The `id` of its envelopes. */
  id: string | undefined;
  text: LogText;
  /** How many characters the text has, as clients count them. */
  length: number;
  annotations: Annotation[];
  /** The run did not complete, and ended here. */
  isCut?: true;
}

/** A source or a file of the answer, at a place of its text. */
export interface Annotation {
  seq: number;
  url: string;
  title: string;
  /** How many characters of the text are before it. */
  at: number;
}

/** A call that the agent has executed itself. */
export interface CallItem extends Item {
  type: 'call';
  call: Call;
  /** Absent if the run ended before. */
  result: { content: unknown; isError?: boolean } | undefined;
}

export interface Call {
  seq: number;
  name: string;
  arguments: unknown;
  /** The id of the approval that was asked for. */
  approval?: string;
}

/** What the run asks. */
export interface AskedItem extends Item {
  type: 'asked';
  request: InputRequest;
}

export type AnswerItem = TextItem | CallItem | AskedItem;

export const isText = (item: AnswerItem | undefined): item is TextItem =>
  item?.type === 'message' || item?.type === 'reasoning';

export type Usage = UsageEnvelope['data'];
