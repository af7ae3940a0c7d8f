/** A traceparent of version 00, which has no more fields, or of a later version, which may have more. */
const TRACEPARENT =
  /^(?:00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})|(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?)$/;

/** The flags with a meaning: that the trace is sampled, and that its id is random. */
const KNOWN_FLAGS = 0x03;

const TRACESTATE_LENGTH = 512;
const TRACESTATE_MEMBERS = 32;
const TRACESTATE_MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * Reads the trace of a request (W3C Trace Context).
 *
 * @param traceparent the header; a malformed one counts as absent
 * @param tracestate the header; a malformed one, and one of more than 512 characters, counts as absent
 * @returns `{traceparent}` or `{traceparent} {tracestate}`, with a traceparent of version 00; undefined if there is none
 */
export function traceOf(traceparent: unknown, tracestate: unknown): string | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const groups = TRACEPARENT.exec(traceparent)?.slice(1).filter(Boolean);
  if (!groups) return undefined;
  const [traceId, spanId, flags] = groups as [string, string, string];
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const known = (parseInt(flags, 16) & KNOWN_FLAGS).toString(16);
  const members = tracestateOf(tracestate);
  return `00-${traceId}-${spanId}-0${known}${members === '' ? '' : ` ${members}`}`;
}

export function traceIdOf(trace: string): string {
  return trace.slice(3, 35);
}

/** The members of the list without the spaces between them; empty if it is malformed. */
function tracestateOf(tracestate: unknown): string {
  if (typeof tracestate !== 'string' || tracestate.length > TRACESTATE_LENGTH) return '';
  const members = tracestate
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '');
  const keys = new Set(members.map((member) => member.split('=', 1)[0]));
  const isValid = members.every((member) => TRACESTATE_MEMBER.test(member));
  if (!isValid || keys.size < members.length || members.length > TRACESTATE_MEMBERS) return '';
  return members.join(',');
}
