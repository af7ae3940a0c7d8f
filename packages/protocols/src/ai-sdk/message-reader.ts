import { MessageForm, type VoidRange } from './message-form.js';
import type { CallChunk, Chunk } from './message-parts.js';

/** A part of a message, as `useChat` keeps it. */
export interface UiPart {
  type: string;
  [member: string]: unknown;
}

/** A decision that has not come yet. */
const isOpen = (approval: unknown) =>
  (approval as { approved?: boolean } | undefined)?.approved === undefined;

const STATES_OF_APPROVALS: Record<string, string> = {
  'tool-approval-request': 'approval-requested',
  'tool-approval-response': 'approval-responded',
};

/** Reads a log as the parts that a client makes of its chunks. */
export class MessageReader extends MessageForm {
  readonly parts: UiPart[] = [];
  /** The texts that are not finished, by the ids of their chunks. */
  readonly #texts = new Map<string, UiPart & { text: string }>();
  /** The calls of the newest step, by their ids. */
  readonly #calls = new Map<string, UiPart>();
  /** The newest calls of the steps before. */
  readonly #earlierCalls = new Map<string, UiPart>();

  constructor(runId: string, voids: readonly VoidRange[]) {
    // Of the versions, only 7 is told of decisions.
    super({ runId, version: 7, since: 0, answeredUpTo: Infinity, voids });
  }

  protected override write(chunk: string): void {
    if (chunk !== '[DONE]') this.#read(JSON.parse(chunk) as Chunk);
  }

  #read(chunk: Chunk): void {
    const { type } = chunk;
    if (type.endsWith('-delta')) this.#texts.get(chunk['id'] as string)!.text += chunk['delta'] as string;
    else if (type.startsWith('tool-')) this.#readCall(chunk as CallChunk);
    else if (type.startsWith('data-')) {
      if (!chunk['transient']) this.parts.push(chunk);
    } else this.#readOther(chunk);
  }

  #readOther({ type, id, ...members }: Chunk): void {
    switch (type) {
      case 'text-start':
      case 'reasoning-start': {
        const isReasoning = type === 'reasoning-start';
        const part = {
          type: isReasoning ? 'reasoning' : 'text',
          text: '',
          state: 'streaming',
          ...(isReasoning && { id }),
        };
        this.#texts.set(id as string, part);
        this.parts.push(part);
        break;
      }
      case 'text-end':
      case 'reasoning-end':
        this.#texts.get(id as string)!['state'] = 'done';
        break;
      case 'start-step':
        this.parts.push({ type: 'step-start' });
        for (const [callId, call] of this.#calls) this.#earlierCalls.set(callId, call);
        this.#calls.clear();
        break;
      case 'reset-step':
        this.parts.splice(this.parts.findLastIndex((part) => part.type === 'step-start') + 1);
        this.#calls.clear();
        break;
      case 'source-url':
      case 'file':
        this.parts.push({ type, ...members });
    }
  }

  #readCall({ type, toolCallId, toolName, input, approvalId, ...members }: CallChunk): void {
    if (type === 'tool-input-available') {
      const part = { type: `tool-${toolName as string}`, toolCallId, state: 'input-available', input };
      const known = this.#calls.get(toolCallId);
      if (known) return void Object.assign(known, part);
      this.parts.push(part);
      this.#calls.set(toolCallId, part);
      return;
    }
    const call = (this.#calls.get(toolCallId) ?? this.#earlierCalls.get(toolCallId))!;
    call['state'] = STATES_OF_APPROVALS[type] ?? type.slice('tool-'.length);
    if (type === 'tool-approval-request') call['approval'] = { id: approvalId };
    else if (type === 'tool-approval-response') call['approval'] = { id: approvalId, ...members };
    else {
      Object.assign(call, members);
      if (isOpen(call['approval'])) delete call['approval'];
    }
  }
}
