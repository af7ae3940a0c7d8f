import type { CallToolRequest, Server, ServerContext } from '@modelcontextprotocol/server';
import type { HostRequest, HostResponse, ReceivedBody } from 'nest-agent-query/protocol';
import { LongTexts } from './long-texts.js';

/** A request to the server, and its response. */
export class Exchange {
  /** Those of the answer. */
  readonly longTexts = new LongTexts();

  /** @param body undefined where the method has none */
  constructor(
    readonly request: HostRequest,
    readonly response: HostResponse,
    readonly body?: ReceivedBody,
  ) {}

  /** The message of the request. */
  get message(): unknown {
    return this.body?.value;
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
