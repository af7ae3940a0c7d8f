import type http from 'node:http';
import type { RemoteCall } from '../../../test/support/remote-service.js';

/** How a server answers a request. */
export type Answer = (response: http.ServerResponse, call: RemoteCall) => void;

/** JSON, or a text as it is. */
export function json(value: unknown, status = 200, headers: http.OutgoingHttpHeaders = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
}

/** The result of a call of JSON-RPC. */
export function result(value: unknown): Answer {
  return (response, { body }) => {
    const { id } = JSON.parse(body) as { id: number };
    json({ jsonrpc: '2.0', id, result: value })(response, undefined as never);
  };
}

/** An error of JSON-RPC. */
export function refusal(code: number, message: string): Answer {
  return (response, { body }) => {
    const { id } = JSON.parse(body) as { id: number };
    json({ jsonrpc: '2.0', id, error: { code, message } })(response, undefined as never);
  };
}

/** A stream of events with these data. */
export function events(...data: string[]): Answer {
  return (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.end(data.map((each) => `data: ${each}\n\n`).join(''));
  };
}

/** An event of the first request. */
export function eventOf(result: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, result });
}
