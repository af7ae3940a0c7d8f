import { QueryError } from 'nest-agent-query';
import { settlesWithin } from 'nest-agent-query/agents';
import type { AgentProcess } from '../process/agent-process.js';
import { PeerClosed, RpcError } from '../process/peer.js';
import { agentFailure } from '../translate/failures.js';

/** Milliseconds that an agent may take to end when it has closed its output. */
const END_MS = 1_000;

/** The agent cannot go on after its process was lost. */
export function notResumed(): QueryError {
  const detail =
    'The process of the agent was lost while it worked, and it cannot go on. Send the query again.';
  return new QueryError('interrupted', detail);
}

/** What an error means that the agent, or the system, gave before the first prompt. Any other error stays as it is. */
export function startFailure(error: unknown): unknown {
  if (error instanceof RpcError) return refused(error);
  if (!(error instanceof PeerClosed) && (error as NodeJS.ErrnoException).syscall === undefined) return error;
  const detail = 'The agent could not be started. The service has logged the cause.';
  return new QueryError('handler_failed', detail, {}, { cause: error });
}

function refused(error: RpcError): QueryError {
  const { code, detail, cause } = agentFailure(error, false);
  const refusal = new Error(`The agent has refused ${error.method}. ${(cause as Error).message}`, { cause });
  return new QueryError(code, detail, {}, { cause: refusal });
}

/** The agent wants to know who uses it. @param methods the ids of its methods of signing in */
export function notSignedIn(error: RpcError, methods: readonly (string | undefined)[]): QueryError {
  const { code, detail } = agentFailure(error, false);
  const cause = new Error(
    'The agent must be signed in. Sign in with its own program and the same home, give it a key in its environment, or set the ' +
      `option authMethod to one of its methods: ${methods.join(', ') || 'it names none'}.`,
    { cause: error },
  );
  return new QueryError(code, detail, {}, { cause });
}

/** The same error; of a closed connection, one that says how the agent has ended. */
export async function withEnd(error: unknown, process: AgentProcess): Promise<unknown> {
  if (error instanceof RangeError)
    return new QueryError(
      'limit_exceeded',
      'The agent wrote a line that is too long for this service.',
      {},
      {
        cause: error,
      },
    );
  if (!(error instanceof PeerClosed)) return error;
  if (!(await settlesWithin(END_MS, process.exited))) return error;
  const { code, signal, lastLines } = await process.exited;
  const how = signal === null ? `with the code ${code}` : `by the signal ${signal}`;
  const said = lastLines.length === 0 ? '' : ` Its last lines on stderr:\n${lastLines.join('\n')}`;
  return new PeerClosed(`The agent has ended ${how}.${said}`, { cause: error });
}
