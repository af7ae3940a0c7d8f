import type { UsageOptions, UsageSum } from 'nest-agent-query-client';
import { useEffect, useState } from 'preact/hooks';
import type { Conversation } from '../state/conversation.js';
import { tokensOf } from '../text.js';

/** No service has kept usage for so long. */
const EVER = '2000-01-01';

/** What the models have used for a conversation, and today. Where no answer tells its usage, nothing is asked or shown. */
export function UsageLine({ conversation }: { conversation: Conversation }) {
  const { id, calls, turns } = conversation;
  const [own, setOwn] = useState<UsageSum>();
  const [today, setToday] = useState<UsageSum>();
  const told = turns.filter(({ isLive, answer }) => !isLive && answer.usage).length;
  useEffect(() => {
    if (told === 0) return;
    // What cannot be read stays as it was.
    const read = (options: UsageOptions, show: (sum: UsageSum | undefined) => void) =>
      calls.client.usage(options).then(
        ({ usage }) => show(usage[0]),
        () => undefined,
      );
    void read({ by: 'session', session: id, from: EVER }, setOwn);
    void read({ by: 'day', from: new Date().toISOString().slice(0, 10) }, setToday);
  }, [told]);
  if (!own && !today) return null;
  return (
    <p class="used">
      {own && <span>This conversation: {tokensOf(own)}</span>}
      {today && <span title="Since midnight in UTC, in all conversations">Today: {tokensOf(today)}</span>}
    </p>
  );
}
