import type { Envelope, Turn, TurnAnswer, TurnFile } from 'nest-agent-query-client';
import { shownTurn, withoutMessageTexts } from '../contract/turn-texts.js';
import type { Admission } from '../ports/run-store.js';
import { turnOfRun } from '../ports/turn-rules.js';
import type { Run } from './run.js';

/** What a turn or a session costs besides its texts, in characters. */
export const OVERHEAD = 256;

/** A turn in one of its forms, and what it costs in characters: the contents of messages are a part of the text. */
interface TurnForm {
  readonly turn: Turn;
  readonly length: number;
}

/** A turn as a `MemoryRunStore` keeps it. */
export interface KeptTurn {
  readonly owner: string;
  readonly whole: TurnForm;
  /** As pages show the turn. */
  readonly shown: TurnForm;
  readonly files: TurnFile[];
  /** The texts that pages show cut, by their digests. */
  readonly longTexts: ReadonlyMap<string, string>;
  /** How many sessions have the turn. */
  uses: number;
}

/** Cuts the long texts once, when the run ends, so that no page has to read them. */
export function keptTurn(run: Run, parts: Admission['parts'], answer: TurnAnswer): KeptTurn {
  const { owner, files } = run;
  const whole = turnOfRun(run, parts, answer);
  const { shown, longTexts } = shownTurn(whole);
  const envelopes = withoutMessageTexts(whole);
  const shownLength = lengthOf(shown, envelopes) + shown.text.length;
  return {
    owner,
    files,
    whole: { turn: whole, length: lengthOf(whole, envelopes) },
    shown: { turn: shown, length: shownLength },
    longTexts,
    uses: 1,
  };
}

/** @param envelopes those of the turn without the texts of its messages; undefined if the text is the only message */
function lengthOf({ parts, text }: Turn, envelopes: Envelope[] | undefined): number {
  let length = OVERHEAD + text.length + (envelopes ? JSON.stringify(envelopes).length : 0);
  for (const part of parts) length += OVERHEAD + (part.type === 'text' ? part.text : part.name).length;
  return length;
}
