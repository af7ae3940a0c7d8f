import { createHash } from 'node:crypto';
import { Get, Injectable, Req, Res } from '@nestjs/common';
import { header, type HostRequest, type HostResponse, pathAsSent } from 'nest-agent-query/protocol';
import { View } from '../../view/view.js';
import type { A2aModuleOptions } from '../a2a-options.js';
import { originOf } from '../addresses.js';
import { agentCard } from './agent-card.js';

/** Where clients look for a card (RFC 8615), below what is before the path of the view. */
export const CARD_PATH = '.well-known/agent-card.json';

/** How long clients keep a card: seconds. */
const MAX_AGE = 300;

/** The agent card: whoever has not its credentials yet learns from it which they are. */
@Injectable()
export class CardController {
  constructor(private readonly view: View<A2aModuleOptions>) {}

  @Get()
  card(
    @Req() request: HostRequest,
    @Res({ passthrough: true }) response: HostResponse,
  ): Record<string, unknown> | undefined {
    const { card = {}, name = 'agent', url = this.#urlOf(request) } = this.view.options;
    const shown = agentCard(card, name, url);
    const etag = `"${createHash('sha256').update(JSON.stringify(shown)).digest('hex')}"`;
    response.header('ETag', etag);
    response.header('Cache-Control', `public, max-age=${MAX_AGE}`);
    const known = header(request, 'if-none-match') ?? '';
    if (!known.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)) return shown;
    response.status(304);
    return undefined;
  }

  /** The card and the view have the same prefix of the host. */
  #urlOf(request: HostRequest): string {
    const prefix = pathAsSent(request).slice(0, -`${CARD_PATH}`.length);
    return `${originOf(request)}${prefix}${this.view.options.path!.split('/').at(-1)}`;
  }
}
