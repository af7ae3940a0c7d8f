import type { InputRequest } from 'nest-agent-query-client';
import { useEffect, useReducer } from 'preact/hooks';
import { shownJson, timeUntil } from '../text.js';

const REDRAWN_MS = 5000;

/** When a request expires, and what happens then. */
export function Expiry({ request: { expiresAt, onExpire } }: { request: InputRequest }) {
  const [, draw] = useReducer((count: number, _: void) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(() => draw(undefined), REDRAWN_MS);
    return () => clearInterval(timer);
  }, []);
  const until = timeUntil(expiresAt);
  const then =
    typeof onExpire === 'object'
      ? `Then the answer is ${shownJson(onExpire.value)}.`
      : onExpire === 'fail'
        ? 'Then the run fails.'
        : 'Then the agent goes on without an answer.';
  return (
    <p class="expiry">
      {until === undefined ? 'Has expired' : 'Expires '}
      <time dateTime={expiresAt} title={new Date(expiresAt).toLocaleString('en')}>
        {until}
      </time>
      . {then}
    </p>
  );
}
