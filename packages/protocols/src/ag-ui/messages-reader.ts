import { AgUiForm } from './ag-ui-form.js';

/** A message of AG-UI. */
export interface AgUiMessage {
  id: string;
  role: string;
  content?: unknown;
  toolCalls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  [member: string]: unknown;
}

/** An event, with what the events have of which messages are made. */
interface Event {
  type: string;
  messageId: string;
  toolCallId: string;
  toolCallName: string;
  parentMessageId: string;
  activityType: string;
  content: unknown;
  delta: string;
  metadata?: object;
  name: string;
  value: { messageIds: string[]; toolCallIds: string[] };
}

type ToolCall = NonNullable<AgUiMessage['toolCalls']>[number];

/** Reads all legs of a run as the messages that a client makes of its events. */
export class MessagesReader extends AgUiForm {
  /** The messages without results of tools, by their ids. */
  readonly #messages = new Map<string, AgUiMessage>();
  /** The results behind each of them. */
  readonly #results = new Map<AgUiMessage, AgUiMessage[]>();
  /** The message that has a call, by the id of the call. */
  readonly #parents = new Map<string, AgUiMessage>();
  #newest: AgUiMessage | undefined;

  constructor(runId: string) {
    super({ id: runId }, { threadId: '', runId, from: Infinity });
  }

  get messages(): AgUiMessage[] {
    return [...this.#messages.values()].flatMap((each) => [each, ...(this.#results.get(each) ?? [])]);
  }

  protected override write(data: string): void {
    this.skip();
    this.#read(JSON.parse(data) as Event);
  }

  #read(event: Event): void {
    const { type, messageId, toolCallId } = event;
    switch (type) {
      case 'TEXT_MESSAGE_START':
        return this.#add({ id: messageId, role: 'assistant', content: '' });
      case 'REASONING_MESSAGE_START':
        return this.#add({ id: messageId, role: 'reasoning', content: '' });
      case 'TEXT_MESSAGE_CONTENT':
      case 'REASONING_MESSAGE_CONTENT':
        this.#lengthen(this.#messages.get(messageId)!, event.delta);
        return;
      case 'TOOL_CALL_START':
        return this.#call(event);
      case 'TOOL_CALL_ARGS':
        // It comes at once behind the start of its call.
        this.#parents.get(toolCallId)!.toolCalls!.at(-1)!.function.arguments += event.delta;
        return;
      case 'TOOL_CALL_RESULT':
        return this.#addResult(toolCallId, {
          ...{ id: messageId, role: 'tool', toolCallId, content: event.content },
          ...(event.metadata && { metadata: event.metadata }),
        });
      case 'ACTIVITY_SNAPSHOT':
        return this.#activity(event);
      case 'CUSTOM':
        if (event.name === 'restarted') this.#remove(event.value);
    }
  }

  #add(message: AgUiMessage): void {
    this.#messages.set(message.id, message);
    this.#newest = message;
  }

  /** Clients show results behind the message that has the call. */
  #addResult(toolCallId: string, result: AgUiMessage): void {
    const before = this.#parents.get(toolCallId) ?? this.#newest;
    if (!before) return this.#add(result);
    const results = this.#results.get(before) ?? [];
    results.push(result);
    this.#results.set(before, results);
  }

  #lengthen(message: AgUiMessage, delta: string): void {
    message.content = (message.content as string) + delta;
  }

  #call({ parentMessageId, toolCallId, toolCallName: name }: Event): void {
    if (!this.#messages.has(parentMessageId)) this.#add({ id: parentMessageId, role: 'assistant' });
    const parent = this.#messages.get(parentMessageId)!;
    const call: ToolCall = { id: toolCallId, type: 'function', function: { name, arguments: '' } };
    (parent.toolCalls ??= []).push(call);
    this.#parents.set(toolCallId, parent);
  }

  #activity({ messageId: id, activityType, content }: Event): void {
    const known = this.#messages.get(id);
    if (known) known.content = content;
    else this.#add({ id, role: 'activity', activityType, content });
  }

  /** What a restart has made void. */
  #remove({ messageIds, toolCallIds }: Event['value']): void {
    const messages = new Set(messageIds);
    const calls = new Set(toolCallIds);
    for (const id of messages) this.#messages.delete(id);
    for (const id of calls) this.#parents.delete(id);
    this.#newest = undefined;
    for (const each of this.#messages.values()) {
      if (each.toolCalls) each.toolCalls = each.toolCalls.filter(({ id }) => !calls.has(id));
      const results = this.#results.get(each)?.filter(({ id }) => !messages.has(id));
      if (results) this.#results.set(each, results);
      this.#newest = each;
    }
  }
}
