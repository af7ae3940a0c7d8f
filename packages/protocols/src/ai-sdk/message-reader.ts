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

/** Reads a log as the parts that a client makes of its chunks. */
export class MessageReader extends MessageForm {
  readonly parts: UiPart[] = [];
  /** The texts that are not finished, by the ids of their chunks. */
  readonly #texts = new Map<string, UiPart & { text: string }>();

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
        break;
      case 'reset-step':
        this.parts.splice(this.#stepStart);
        break;
      case 'source-url':
      case 'file':
        this.parts.push({ type, ...members });
    }
  }

  #readCall({ type, toolCallId, toolName, input, approvalId, ...members }: CallChunk): void {
    if (type === 'tool-input-available') {
      const part = { type: `tool-${toolName as string}`, toolCallId, state: 'input-available', input };
      const known = this.#callAfter(this.#stepStart, toolCallId);
      if (known) Object.assign(known, part);
      else this.parts.push(part);
      return;
    }
    const call = (this.#callAfter(this.#stepStart, toolCallId) ?? this.#callAfter(0, toolCallId))!;
    call['state'] = type.slice('tool-'.length).replace(/^approval-(request|response)$/, STATE_OF_APPROVAL);
    if (type === 'tool-approval-request') call['approval'] = { id: approvalId };
    else if (type === 'tool-approval-response') call['approval'] = { id: approvalId, ...members };
    else {
      Object.assign(call, members);
      if (isOpen(call['approval'])) delete call['approval'];
    }
  }

  /** The newest part of a call, from an index on. */
  #callAfter(index: number, toolCallId: string): UiPart | undefined {
    return this.parts.slice(index).findLast((part) => part['toolCallId'] === toolCallId);
  }

  /** The index of the first part of the newest step. */
  get #stepStart(): number {
    return this.parts.findLastIndex(({ type }) => type === 'step-start') + 1;
  }
}

const STATE_OF_APPROVAL = (_: string, what: string) =>
  what === 'request' ? 'approval-requested' : 'approval-responded';
