import { Injectable, StreamableFile } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { HostResponse } from './host.js';
import { jsonOf } from './write-json.js';

/** Writes values that routes return as JSON. Nest's own `JSON.stringify` would hold the event loop for a page of turns. */
@Injectable()
export class JsonResponse {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  /**
   * Ends a response. Its status is that of the route.
   *
   * @param body a `StreamableFile` is sent as it is; nothing is sent if it is undefined
   */
  async send(body: unknown, response: HostResponse): Promise<void> {
    const { httpAdapter } = this.adapterHost;
    const isJson = body !== undefined && !(body instanceof StreamableFile);
    const sent = isJson ? await jsonOf(body) : body;
    try {
      if (isJson) response.header('Content-Type', 'application/json; charset=utf-8');
      if (response.getHeader('Cache-Control') === undefined) response.header('Cache-Control', 'no-store');
      httpAdapter.reply(response, sent);
    } catch (error) {
      if (body instanceof StreamableFile) body.getStream().destroy();
      throw error;
    }
  }
}
