import { AgentQueryError } from 'nest-agent-query-client';
import { EXIT } from './exit-codes.js';

/** The command line is wrong, or names a file that cannot be used. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A proxy between this machine and the service is at fault. */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure';

  /** @param isFinal whether it does not help to try again */
  constructor(
    message: string,
    readonly isFinal: boolean,
    cause?: Error,
  ) {
    super(message, { cause });
  }
}

/** Codes of the client that do not come from the service. */
const EXIT_OF_CODE = new Map<string, number>([
  ['connection_lost', EXIT.noConnection],
  ['invalid_response', EXIT.noConnection],
  ['body_not_repeatable', EXIT.noConnection],
  ['file_unreadable', EXIT.usage],
]);

/** The exit code for what a command has thrown. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof AgentQueryError) return EXIT_OF_CODE.get(error.code) ?? EXIT.refused;
  return EXIT.failed;
}

/** What is wrong, where, and what to do. */
export function sentencesOf(error: unknown): string {
  if (!(error instanceof AgentQueryError)) return error instanceof Error ? error.message : String(error);
  const faults = (error.errors ?? []).map(({ pointer, detail }) => `\n  ${pointer} ${detail}`);
  const code = systemCodeOf(error);
  const reason = code === undefined ? error.message : `${error.message.replace(/\.$/, '')} (${code}).`;
  return `${reason} (${error.code})${faults.join('')}${adviceOn(error)}`;
}

function adviceOn(error: AgentQueryError): string {
  const { code, problem, runId, status } = error;
  if (code === 'connection_lost' && runId !== undefined)
    return `\nThe run may go on. To read the rest: nest-agent-query follow ${runId}`;
  if (error.cause instanceof ProxyFailure) return '';
  if (code === 'connection_lost' || code === 'invalid_response' || isUnknownPath(error))
    return '\nDoes the service listen there? --url or AGENT_QUERY_URL says where it is.';
  if (status === 401) return '\nSet AGENT_QUERY_KEY to an API key or a token of the service.';
  if (code === 'cursor_expired' && problem?.oldest !== undefined)
    return `\nTo read what is kept: --after ${problem.oldest - 1}`;
  return '';
}

/** Whether a host or a proxy has nothing at the path. The service says what there is not: a run, a session or a file. */
function isUnknownPath({ status, code, message }: AgentQueryError): boolean {
  return status === 404 && (code === 'refused' || /^Cannot [A-Z]+ \//.test(message));
}

/** What the system says, such as ECONNREFUSED. `fetch` has it as the cause of its own error. */
function systemCodeOf(error: Error): string | undefined {
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== undefined) return code;
  }
  return undefined;
}
