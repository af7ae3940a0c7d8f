const PREFIX = 'msg_';

/** The id of the message of a run: all legs of the run are one message. */
export function messageIdOf(runId: string): string {
  return PREFIX + runId;
}

/** The id of the run whose message has an id; undefined if the message is not of a run. */
export function runIdOf(messageId: string | undefined): string | undefined {
  return messageId?.startsWith(PREFIX) ? messageId.slice(PREFIX.length) : undefined;
}
