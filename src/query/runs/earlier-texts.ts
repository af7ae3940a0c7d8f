import type { Turn, TurnFile, TurnText } from 'nest-agent-query-client';

/** A text of a conversation before the query, which its caller has sent along. */
export interface EarlierText {
  from: 'user' | 'assistant';
  text: string;
}

type Parts = (TurnText | TurnFile)[];

/** Earlier texts as a store keeps them: before the parts of the query. */
export function partsOf(earlier: readonly EarlierText[] = []): TurnText[] {
  return earlier.map(({ from, text }) => ({ type: 'text', text, earlier: from }));
}

/** Separates the parts of a query from the earlier texts before them. */
export function separated(parts: Parts): { earlier: EarlierText[]; own: Parts } {
  const own = parts.findIndex((part) => !isEarlier(part));
  const count = own < 0 ? parts.length : own;
  const earlier = (parts.slice(0, count) as TurnText[]).map(({ earlier: from, text }) => ({
    from: from!,
    text,
  }));
  return { earlier, own: parts.slice(count) };
}

/** The turns that a conversation has at a turn: those of its earlier texts, and itself. */
export function turnsAt(turn: Turn): Turn[] {
  const [first] = turn.parts;
  if (!first || !isEarlier(first)) return [turn];
  const { earlier, own } = separated(turn.parts);
  return [...turnsOf(earlier, turn), { ...turn, parts: own }];
}

/** Earlier texts as turns: a question, and what follows until the next question is its answer. */
export function turnsOf(
  earlier: readonly EarlierText[],
  { runId, createdAt }: Pick<Turn, 'runId' | 'createdAt'>,
): Turn[] {
  const turns: Turn[] = [];
  const times = { runId, createdAt, endedAt: createdAt };
  for (const { from, text } of earlier) {
    const last = turns.at(-1);
    const asks = from === 'user' && (!last || last.envelopes.length > 0);
    if (!last || asks)
      turns.push({ ...times, parts: [], text: '', envelopes: [], end: { status: 'completed' } });
    const turn = turns.at(-1)!;
    if (from === 'user') turn.parts.push({ type: 'text', text });
    else {
      turn.text += text;
      turn.envelopes.push({ type: 'message', data: { content: text } });
    }
  }
  return turns;
}

function isEarlier(part: TurnText | TurnFile): boolean {
  return part.type === 'text' && part.earlier !== undefined;
}
