import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { once } from 'node:events';
import { TLS_FILE } from './faulty-proxy.js';

/** Calls a service with HTTP/1.1, also through a proxy whose certificate is that of the tests. */
export class ProxiedCaller {
  readonly #ca = readFileSync(TLS_FILE);

  constructor(
    private readonly url: string,
    private readonly headers: Record<string, string> = {},
  ) {}

  /** Begins a request, and returns when its head has arrived. */
  async begin(path: string, body?: Buffer | string): Promise<http.IncomingMessage> {
    const request = (this.url.startsWith('https') ? https : http).request(`${this.url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(body !== undefined && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        }),
        ...this.headers,
      },
      ca: this.#ca,
      agent: false,
    } as https.RequestOptions);
    request.end(body);
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    return response;
  }

  /** The status and the text of an answer. */
  async whole(path: string, body?: Buffer | string): Promise<[number, string]> {
    const response = await this.begin(path, body);
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    return [response.statusCode!, text];
  }
}
