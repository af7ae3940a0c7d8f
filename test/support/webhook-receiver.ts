import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WebhookEndpoint, WebhookEvent, WebhookMessage } from '../../src/index.js';
import { eventually } from './conditions.js';
import { freePort } from './free-port.mjs';

export const SECRET = `whsec_${Buffer.alloc(24, 'a').toString('base64')}`;
export const NEWER_SECRET = `whsec_${Buffer.alloc(64, 'b').toString('base64')}`;
export const ALL_EVENTS: WebhookEvent[] = [
  'run.completed',
  'run.failed',
  'run.cancelled',
  'run.input_required',
];

/** A webhook as it has arrived. */
export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  message: WebhookMessage;
}

/** A server that keeps the webhooks that it gets, and answers as the test says: 204 by default. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  reply: (response: ServerResponse, received: Received) => void = (response) => response.writeHead(204).end();
  readonly #server = createServer((request, response) => void this.#receive(request, response));

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await receiver.listen(await freePort());
    return receiver;
  }

  async listen(port: number): Promise<void> {
    await once(this.#server.listen(port, '127.0.0.1'), 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  endpoint(more: Partial<WebhookEndpoint> = {}): WebhookEndpoint {
    return { name: 'crm', url: this.url, secret: SECRET, events: ALL_EVENTS, ...more };
  }

  /** Answers with a status from now on. */
  answer(status: number, headers: Record<string, string> = {}): void {
    this.reply = (response) => response.writeHead(status, headers).end();
  }

  async count(count: number): Promise<void> {
    await eventually(() => this.received.length >= count);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }

  async #receive(...[request, response]: Parameters<RequestListener>): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { url: path = '', headers } = request;
    const received = { path, headers, body, message: JSON.parse(body) as WebhookMessage };
    this.received.push(received);
    this.reply(response, received);
  }
}
