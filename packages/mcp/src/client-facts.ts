import { randomUUID } from 'node:crypto';
import { CLIENT_CAPABILITIES_META_KEY, type ServerContext } from '@modelcontextprotocol/server';
import { header, type HostRequest } from 'nest-agent-query/protocol';
import { isObject } from './json.js';

/** The extension by which a call may become a task. */
export const TASKS = 'io.modelcontextprotocol/tasks';

/** How a client asks a person: with a form, or by sending them to an address. */
export type Mode = 'form' | 'url';

/** What a client of the version 2026-07-28 can do: each of its requests says so. */
export class ClientCapabilities {
  readonly #declared: Record<string, unknown>;

  constructor({ envelope }: Pick<ServerContext['mcpReq'], 'envelope'>) {
    const declared = (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
    this.#declared = isObject(declared) ? declared : {};
  }

  get hasTasks(): boolean {
    const { extensions } = this.#declared;
    return isObject(extensions) && extensions[TASKS] !== undefined;
  }

  get modes(): Mode[] {
    return modesOf(this.#declared['elicitation']);
  }
}

/** The session of a client of the version 2025-11-25. Nothing is kept of it: its id says what the client has told at its beginning. */
export interface ClientSession {
  id: string;
  modes: Mode[];
}

const SESSION_HEADER = 'mcp-session-id';

/** The header of a response that begins a session. @param params of the request `initialize` */
export function sessionHeader(params: unknown): [name: string, value: string] {
  const capabilities = isObject(params) && isObject(params['capabilities']) ? params['capabilities'] : {};
  return [SESSION_HEADER, [randomUUID(), ...modesOf(capabilities['elicitation'])].join('.')];
}

/** The session that a request names; undefined if it names none of ours. */
export function sessionOf(request: HostRequest): ClientSession | undefined {
  const found = /^[\da-f-]{36}(\.form)?(\.url)?$/.exec(header(request, SESSION_HEADER) ?? '');
  if (!found) return undefined;
  const [id, form, url] = found;
  return { id, modes: [...(form ? ['form' as const] : []), ...(url ? ['url' as const] : [])] };
}

/** Clients that do not say how they ask, do it with a form. */
function modesOf(elicitation: unknown): Mode[] {
  if (!isObject(elicitation)) return [];
  const hasUrl = elicitation['url'] !== undefined;
  const hasForm = elicitation['form'] !== undefined || !hasUrl;
  return [...(hasForm ? ['form' as const] : []), ...(hasUrl ? ['url' as const] : [])];
}
