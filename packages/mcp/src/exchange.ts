import type { CallToolRequest, Server, ServerContext } from '@modelcontextprotocol/server';
import {
  type HostRequest,
  type HostResponse,
  rawResponse,
  type ReceivedBody,
} from 'nest-agent-query/protocol';
import { type CallCursor, eventIdOf, resumingMessage } from './call-cursor.js';
import { LongTexts } from './long-texts.js';

/** A request to the server, and its response. */
export class Exchange {
  /** Those of the answer. */
  readonly longTexts = new LongTexts();
  /** Called when the head of the response is written. */
  begin!: () => void;
  readonly #begun = new Promise<void>((resolve) => (this.begin = resolve));
  readonly #eventIds = new Map<string, string>();
  /** Whether the client would ask for the response again, if it ended without an answer, or with an error. */
  canResume = false;

  /**
   * @param body undefined where the method has none
   * @param resumes the stream that a GET goes on with
   */
  constructor(
    readonly request: HostRequest,
    readonly response: HostResponse,
    readonly body?: ReceivedBody,
    readonly resumes?: CallCursor,
  ) {}

  /** The message of the request. */
  get message(): unknown {
    return this.resumes ? resumingMessage(this.resumes) : this.body?.value;
  }

  /** Lets a client that loses its connection resume the stream of a call, from here on. */
  mark(cursor: CallCursor): void {
    const id = eventIdOf(cursor, this.request);
    if (id === undefined) return;
    this.canResume = true;
    void this.#begun.then(() => {
      const raw = rawResponse(this.response);
      if (!raw.writableEnded && !raw.destroyed) raw.write(`id: ${id}\ndata: \n\n`);
    });
  }

  /** The same from the event on that has a text. */
  markAt(text: string, cursor: CallCursor): void {
    const id = eventIdOf(cursor, this.request);
    if (id !== undefined) this.#eventIds.set(text, id);
  }

  /** An event as the SDK has made it, with the id that belongs to it. */
  withId(event: string): string {
    for (const [text, id] of this.#eventIds)
      if (event.includes(text)) return this.#eventIds.delete(text) ? `id: ${id}\n${event}` : event;
    return event;
  }

  /** Ends the stream without an answer, if its client can resume it. */
  leaveOpen(): void {
    // The SDK for TypeScript asks twice only, and a process may take longer to start.
    if (this.canResume) rawResponse(this.response).end('retry: 5000\n\n');
  }
}

/** A request `tools/call`. */
export interface Call {
  exchange: Exchange;
  /** `modern`: the version 2026-07-28. `legacy`: 2025-11-25 and older. */
  era: 'modern' | 'legacy';
  parameters: CallToolRequest['params'];
  mcpReq: ServerContext['mcpReq'];
  server: Server;
}
