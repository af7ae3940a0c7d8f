import { type Envelope, toolCall, toolResult } from 'nest-agent-query';
import { notExecuted, questionKey } from 'nest-agent-query-adapters';
import {
  argumentsOf,
  filesOfCall,
  type KnownCall,
  mergeCall,
  newCall,
  resultOf,
  shownId,
} from './known-call.js';
import { textIn } from './members.js';

const ENDS = ['completed', 'failed'];
const NO_END = 'The agent has not said how the call ended.';

/** The tool calls of a turn: each is told once, and has one result. */
export class ToolCalls {
  /** By the session and the id that the agent gives. */
  readonly #calls = new Map<string, KnownCall>();
  readonly #ids: string[] = [];

  /** @param cwd the folder of the session */
  constructor(private readonly cwd: string) {}

  get size(): number {
    return this.#ids.length;
  }

  /** What a `tool_call` or a `tool_call_update` tells callers. One without an id tells nothing. */
  updated(sessionId: string, update: Record<string, unknown>): Envelope[] {
    const id = textIn(update['toolCallId']);
    if (id === undefined) return [];
    const call = this.#callOf(sessionId, id, isNewCall(update));
    if (call.isOver) return [];
    mergeCall(call, update, this.cwd);
    if (ENDS.includes(call.status ?? '')) return [...this.#told(call), this.#over(call)];
    return call.status === 'in_progress' ? this.#told(call) : [];
  }

  /** A permission is asked for a call. Some agents have told nothing of it before. */
  asked(sessionId: string, toolCall: Record<string, unknown>): { call: KnownCall; envelopes: Envelope[] } {
    const id = textIn(toolCall['toolCallId']) ?? 'call';
    const call = this.#callOf(sessionId, id, true);
    mergeCall(call, toolCall, this.cwd);
    return { call, envelopes: this.#told(call) };
  }

  /** Ends the calls that the agent has not ended. */
  closed(): Envelope[] {
    return [...this.#calls.values()]
      .filter(({ isTold, isOver }) => isTold && !isOver)
      .map((call) => {
        call.isOver = true;
        const reason = call.refusal === undefined ? NO_END : notExecuted(call.refusal);
        return toolResult(call.id, reason, { isError: true });
      });
  }

  /** @param isNew whether a call of this id that is over is another call */
  #callOf(sessionId: string, id: string, isNew: boolean): KnownCall {
    const key = JSON.stringify([sessionId, id]);
    const known = this.#calls.get(key);
    if (known && !(known.isOver && isNew)) return known;
    const call = newCall(questionKey(shownId(id), this.#ids));
    this.#ids.push(call.id);
    this.#calls.set(key, call);
    return call;
  }

  #told(call: KnownCall): Envelope[] {
    if (call.isTold) return [];
    call.isTold = true;
    const { data } = toolCall(call.id, call.name, argumentsOf(call));
    const { title, kind } = call;
    const shown = { ...(title !== undefined && { title }), ...(kind !== undefined && { kind }) };
    return [{ type: 'tool_call', data: { ...data, ...shown, ...filesOfCall(call, this.cwd) } }];
  }

  #over(call: KnownCall): Envelope {
    call.isOver = true;
    const isFailed = call.status === 'failed';
    const { data } = toolResult(call.id, resultOf(call), { isError: isFailed || undefined });
    const envelope = { type: 'tool_result', data: { ...data, ...filesOfCall(call, this.cwd) } };
    forget(call);
    return envelope;
  }
}

/** A run may have thousands of calls, and each may have a large file. */
function forget(call: KnownCall): void {
  call.rawInput = call.rawOutput = call.content = call.locations = undefined;
}

/** Whether it begins a call. Some agents send the beginning of one call twice, or its end as a `tool_call`. */
function isNewCall({ sessionUpdate, status }: Record<string, unknown>): boolean {
  return sessionUpdate === 'tool_call' && !ENDS.includes(textIn(status) ?? '');
}
