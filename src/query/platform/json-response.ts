import { Injectable, StreamableFile } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { HostResponse } from './host.js';
import { jsonOf } from './write-json.js';

/** Sends what routes return: values as JSON, files as they are. Nest's own `JSON.stringify` would hold the event loop for a page of turns. */
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
      if (!isFile(body, response)) response.header('Cache-Control', 'no-store');
      httpAdapter.reply(response, sent);
    } catch (error) {
      if (body instanceof StreamableFile) body.getStream().destroy();
      throw error;
    }
  }
}

/** Whether the response is a file, or says that the caller has the file already (304). The route has set the headers of both. */
function isFile(body: unknown, { statusCode }: HostResponse): boolean {
  return body instanceof StreamableFile || statusCode === 304;
}
