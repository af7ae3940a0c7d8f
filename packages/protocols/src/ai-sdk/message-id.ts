const PREFIX = 'msg_';
const USER_PREFIX = 'user_';
const EARLIER_PREFIX = 'earlier_';

/** The id of the message of a run: all legs of the run are one message. */
export function messageIdOf(runId: string): string {
  return PREFIX + runId;
}

/** The id of the run whose message has an id; undefined if the message is not of a run. */
export function runIdOf(messageId: string | undefined): string | undefined {
  return messageId?.startsWith(PREFIX) ? messageId.slice(PREFIX.length) : undefined;
}

/** The id that a loaded message of the user has: that of the run which its query became. */
export function userIdOf(runId: string): string {
  return USER_PREFIX + runId;
}

/** The id of the run that a message became, of the agent or of the user; undefined if its id does not tell it. */
export function turnIdOf(messageId: string | undefined): string | undefined {
  return messageId?.startsWith(USER_PREFIX) ? messageId.slice(USER_PREFIX.length) : runIdOf(messageId);
}

/** The id that a loaded text has which was sent along with the query of a run. */
export function earlierIdOf(runId: string, index: number): string {
  return `${EARLIER_PREFIX}${runId}_${index}`;
}

export function isEarlierId(messageId: string | undefined): boolean {
  return messageId?.startsWith(EARLIER_PREFIX) ?? false;
}
