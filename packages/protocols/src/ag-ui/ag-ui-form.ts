import type {
  Envelope,
  InputRequest,
  MessageEnvelope,
  ResultEnvelope,
  RunEnd,
  ToolCallEnvelope,
  ToolResultEnvelope,
  UsageEnvelope,
} from 'nest-agent-query';
import { AskedRequests } from 'nest-agent-query/protocol';
import { chunkOf } from '../view/event-form.js';
import { Begun } from './begun.js';
import { interruptOf, isOfTools } from './interrupts.js';
import { RunEvents } from './run-events.js';
import { UsageSum } from './usage-sum.js';

/** A message that chunks are added to. */
interface OpenMessage {
  type: 'message' | 'reasoning';
  /** The `id` of its envelopes. */
  id: string | undefined;
  messageId: string;
  /** The JSON of a further event, up to the content. */
  content: string;
}

/**
 * Writes a log as the events of AG-UI 1.0. A run of AG-UI is a leg: it ends where the log asks, and another one begins with the answers.
 * The events of all legs are numbered from 0, and messages have the number of their first event.
 */
export class AgUiForm extends RunEvents {
  #isRunning = false;
  #isHidden = false;
  #message: OpenMessage | undefined;
  /** The message that calls belong to. */
  #parent: string | undefined;
  readonly #begun = new Begun();
  #seq = 0;
  readonly #asked = new AskedRequests();
  readonly #usage = new UsageSum();
  #result: { seq: number; value: unknown } | undefined;

  protected override begin(): void {
    this.#start();
  }

  protected override read(line: string, seq: number): void {
    const message = this.#message;
    const chunk = message?.type === 'message' && message.id === undefined ? chunkOf(line) : undefined;
    if (chunk !== undefined) return this.event(`${message!.content}${chunk}}`);
    this.#seq = seq;
    this.#envelope(JSON.parse(line) as Envelope);
  }

  #envelope(envelope: Envelope): void {
    const { type, data = null } = envelope;
    const goesOn = this.#asked.read(envelope);
    if (type === 'input_resolved') {
      if (goesOn && !this.#isRunning) this.#start();
      return;
    }
    if (!this.#isRunning) this.#start();
    switch (type) {
      case 'message':
      case 'reasoning':
        return this.#chunk(type, data as MessageEnvelope['data']);
      case 'tool_call':
        return this.#call(data as ToolCallEnvelope['data']);
      case 'tool_result':
        return this.#toolResult(data as ToolResultEnvelope['data']);
      case 'progress':
        return this.send('ACTIVITY_SNAPSHOT', {
          messageId: this.idOf('progress'),
          activityType: type,
          content: data,
        });
      case 'usage':
        return this.#usage.add(data as UsageEnvelope['data']);
      case 'result':
        this.#result = { seq: this.#seq, value: (data as ResultEnvelope['data']).value };
        return;
      case 'input_required':
        return this.#ask((data as { requests: InputRequest[] }).requests);
      case 'restarted':
        return this.#restart(data as { attempt: number; from: number });
      case 'done':
        return this.#done(data as RunEnd);
      default:
        return this.send('CUSTOM', { name: type, value: data });
    }
  }

  #start(): void {
    const { threadId, runId, parentRunId, after } = this.shown;
    this.#isRunning = true;
    this.#usage.clear();
    const { open, resolved } = this.#asked;
    const asked = [...open, ...resolved.map(([request]) => request)];
    const isFirst = asked.some(({ id }) => id === after);
    if (isFirst) this.from = this.number;
    else if (this.#isHidden) return this.skip();
    this.send('RUN_STARTED', { threadId, runId, parentRunId });
  }

  #chunk(type: OpenMessage['type'], { content, id }: MessageEnvelope['data']): void {
    if (this.#message?.type !== type || this.#message.id !== id) {
      this.#close();
      this.#message = this.#begin(type, id);
    }
    this.event(`${this.#message.content}${JSON.stringify(content)}}`);
  }

  #begin(type: OpenMessage['type'], id: string | undefined): OpenMessage {
    const messageId = this.#newId();
    const isText = type === 'message';
    if (isText) this.#parent = messageId;
    else this.send('REASONING_START', { messageId });
    const name = isText ? 'TEXT_MESSAGE' : 'REASONING_MESSAGE';
    this.send(`${name}_START`, { messageId, role: isText ? 'assistant' : 'reasoning' });
    const content = `{"type":"${name}_CONTENT","messageId":${JSON.stringify(messageId)},"delta":`;
    return { type, id, messageId, content };
  }

  #close(): void {
    if (!this.#message) return;
    const { type, messageId } = this.#message;
    this.#message = undefined;
    if (type === 'message') return this.send('TEXT_MESSAGE_END', { messageId });
    this.send('REASONING_MESSAGE_END', { messageId });
    this.send('REASONING_END', { messageId });
  }

  #call({ id: toolCallId, name, arguments: input }: ToolCallEnvelope['data']): void {
    this.#close();
    this.#parent ??= this.#newId();
    this.#begun.add('call', toolCallId, this.#seq);
    const call = { toolCallId, toolCallName: name, parentMessageId: this.#parent };
    this.send('TOOL_CALL_START', call);
    this.send('TOOL_CALL_ARGS', { toolCallId, delta: JSON.stringify(input ?? {}) });
    this.send('TOOL_CALL_END', { toolCallId });
  }

  #toolResult({ id: toolCallId, content, isError }: ToolResultEnvelope['data']): void {
    this.#close();
    this.#parent = undefined;
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    const metadata = isError ? { isError } : undefined;
    this.send('TOOL_CALL_RESULT', {
      messageId: this.#newId(),
      ...{ toolCallId, content: text, role: 'tool', metadata },
    });
  }

  #ask(requests: InputRequest[]): void {
    this.#close();
    for (const { toolCallId, name = 'tool', arguments: input } of requests) {
      const isTold = toolCallId === undefined || this.#begun.hasCall(toolCallId);
      if (!isTold) this.#call({ id: toolCallId, name, arguments: input });
    }
    this.#isRunning = false;
    this.#isHidden = requests.every(({ id }) => this.shown.resolved?.has(id));
    if (isOfTools(requests)) for (const request of requests) this.#executeTool(request);
    if (this.#isHidden) return this.skip();
    this.#finish({ outcome: this.#pauseOf(requests) });
    this.isOver = this.number > this.from;
  }

  /** TanStack AI's client executes a call when it reads this. Others know their tools by the names of calls. */
  #executeTool({ toolCallId, name: toolName, arguments: input = {} }: InputRequest): void {
    if (this.#isHidden) return this.skip();
    this.send('CUSTOM', { name: 'tool-input-available', value: { toolCallId, toolName, input } });
  }

  /** Calls that the client executes are no interrupts: their results are the messages of its next input. */
  #pauseOf(requests: InputRequest[]): object {
    const pendingToolCallIds = requests.map(({ toolCallId }) => toolCallId);
    if (isOfTools(requests)) return { type: 'success', ...(!this.shown.isBefore1 && { pendingToolCallIds }) };
    const interrupts = requests.map((request) => interruptOf(request, this.shown.runId));
    return { type: 'interrupt', interrupts };
  }

  /** Messages that are void cannot be taken back: the client is told which they are. */
  #restart({ attempt, from }: { attempt: number; from: number }): void {
    this.#close();
    this.#parent = undefined;
    if (this.#result && this.#result.seq > from) this.#result = undefined;
    this.send('CUSTOM', { name: 'restarted', value: { attempt, from, ...this.#begun.voidAfter(from) } });
  }

  #done(end: RunEnd): void {
    this.#close();
    if (end.status === 'failed') {
      const { code, message } = end.error;
      return this.last('RUN_ERROR', { message, code, usage: this.#usage.list });
    }
    if (end.status === 'cancelled')
      return this.#finish(this.shown.isBefore1 ? {} : { outcome: { type: 'cancelled' } });
    this.#finish({ result: this.#result?.value ?? undefined, outcome: { type: 'success' } });
  }

  #finish(data: object): void {
    const { threadId, runId } = this.shown;
    this.last('RUN_FINISHED', { threadId, runId, ...data, usage: this.#usage.list });
  }

  #newId(): string {
    const id = this.idOf(this.number);
    this.#begun.add('message', id, this.#seq);
    return id;
  }
}
