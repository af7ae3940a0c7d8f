export type JsonRpcId = string | number | null;

/** The agent has answered a request with an error. */
export class RpcError extends Error {
  override readonly name = 'RpcError';

  constructor(
    readonly code: number,
    message: string,
    readonly data: unknown,
    /** The method that was refused. */
    readonly method: string,
  ) {
    super(message);
  }
}

/** A request, a notification or an answer. */
export interface Message {
  id?: JsonRpcId;
  /** Absent of an answer. */
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: unknown;
}

const INTERNAL_ERROR = -32603;

/** The message of a line; undefined if it is none of JSON-RPC 2.0. A batch is none. */
export function messageOf(line: string): Message | undefined {
  let message: (Message & { jsonrpc?: unknown }) | null;
  try {
    message = JSON.parse(line) as typeof message;
  } catch {
    return undefined;
  }
  if (message?.jsonrpc !== '2.0' || !isId(message.id)) return undefined;
  const { method } = message as { method?: unknown };
  const isMessage = typeof method === 'string' || (method === undefined && message.id !== undefined);
  return isMessage ? message : undefined;
}

/** @param error of an answer: any JSON, as agents send texts and other codes too */
export function errorOf(error: unknown, method: string): RpcError {
  const { code, message, data } = Object(error) as { code?: unknown; message?: unknown; data?: unknown };
  const text = typeof message === 'string' ? message : JSON.stringify(error);
  return new RpcError(typeof code === 'number' ? code : INTERNAL_ERROR, text, data, method);
}

function isId(id: unknown): boolean {
  return id === undefined || id === null || typeof id === 'string' || typeof id === 'number';
}
