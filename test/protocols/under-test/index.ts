import type { DynamicModule } from '@nestjs/common';
import type { Reply } from '../../support/client.js';

/** What a request has besides its text. */
export interface RequestParts {
  /** The id of a conversation, if the protocol lets callers name one. */
  conversation?: string;
  headers?: Record<string, string>;
  /** Members of the body, in the place of those with the same names. */
  members?: object;
  /** Parts of the message after its text. */
  parts?: object[];
}

/** A protocol as the contract suite uses it. */
export interface ProtocolUnderTest {
  /** The head of its column in the tables of docs/protocols.md: `AI SDK`, `AG-UI`, `Responses`, `Chat Completions` or `A2A`. */
  name: string;
  /** The module of the view, for the `QueryModule` without a name, at its default path. */
  module: () => DynamicModule;
  /** Submits a text as the protocol's client does, and resolves with the response that streams. */
  submit: (base: string, text: string, request?: RequestParts) => Promise<Reply>;
  /** Reads the run of a response again, from its beginning, as the protocol's client does; undefined if the protocol cannot. */
  follow?: (base: string, reply: Reply) => Promise<Reply>;
  /** The same after the first events: what is left. */
  resume?: (base: string, reply: Reply, events: number) => Promise<Reply>;
  /** The types of the events of a stream, in order: `text-delta`, `TEXT_MESSAGE_CONTENT`, `response.output_text.delta`, `[DONE]`. */
  typesOf: (stream: string) => string[];
  /** The text of the answer that the client would show. */
  textOf: (stream: string) => string;
  /** The id of our run that a response shows. */
  runIdOf: (reply: Reply) => string;
}
