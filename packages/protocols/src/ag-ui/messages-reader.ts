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

/** Reads all legs of a run as the messages that a client makes of its events. */
export class MessagesReader extends AgUiForm {
  messages: AgUiMessage[] = [];

  constructor(runId: string) {
    super({ id: runId }, { threadId: '', runId, from: Infinity });
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
        this.#lengthen(this.#find(messageId)!, event.delta);
        return;
      case 'TOOL_CALL_START':
        return this.#call(event);
      case 'TOOL_CALL_ARGS':
        this.#callOf(toolCallId)!.function.arguments += event.delta;
        return;
      case 'TOOL_CALL_RESULT':
        return this.#addResult({
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
    this.messages.push(message);
  }

  /** Clients show results behind the message that has the call. */
  #addResult(result: AgUiMessage): void {
    const { messages } = this;
    const parent = messages.findLastIndex(({ toolCalls = [] }) =>
      toolCalls.some(({ id }) => id === result['toolCallId']),
    );
    let index = parent < 0 ? messages.length : parent + 1;
    while (messages[index]?.role === 'tool') index++;
    messages.splice(index, 0, result);
  }

  #lengthen(message: AgUiMessage, delta: string): void {
    message.content = (message.content as string) + delta;
  }

  #call({ parentMessageId, toolCallId, toolCallName: name }: Event): void {
    if (!this.#find(parentMessageId)) this.#add({ id: parentMessageId, role: 'assistant' });
    const call = { id: toolCallId, type: 'function' as const, function: { name, arguments: '' } };
    (this.#find(parentMessageId)!.toolCalls ??= []).push(call);
  }

  #activity({ messageId: id, activityType, content }: Event): void {
    const known = this.#find(id);
    if (known) known.content = content;
    else this.#add({ id, role: 'activity', activityType, content });
  }

  /** What a restart has made void. */
  #remove({ messageIds, toolCallIds }: Event['value']): void {
    this.messages = this.messages.filter(({ id }) => !messageIds.includes(id));
    for (const message of this.messages) {
      const calls = message.toolCalls?.filter(({ id }) => !toolCallIds.includes(id));
      if (calls) message.toolCalls = calls;
    }
  }

  #find(id: string): AgUiMessage | undefined {
    return this.messages.findLast((message) => message.id === id);
  }

  #callOf(wanted: string) {
    return this.messages.flatMap(({ toolCalls = [] }) => toolCalls).findLast(({ id }) => id === wanted);
  }
}
