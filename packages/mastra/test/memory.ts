import { MastraMemory } from '@mastra/core/memory';
import { InMemoryStore } from '@mastra/core/storage';

interface Message {
  id: string;
  threadId?: string;
}

/** A memory of Mastra that gives back all messages of a thread, and saves each once. */
export class TestMemory extends MastraMemory {
  readonly threads = new Map<string, { id: string; resourceId: string }>();
  readonly messages = new Map<string, Message>();

  constructor() {
    super({ name: 'test', storage: new InMemoryStore(), options: { threads: { generateTitle: false } } });
  }

  of(threadId: string): Message[] {
    return [...this.messages.values()].filter((message) => message.threadId === threadId);
  }

  override getThreadById = async ({ threadId }: { threadId: string }) =>
    (this.threads.get(threadId) ?? null) as never;
  override saveThread = async ({ thread }: { thread: { id: string; resourceId: string } }) => {
    this.threads.set(thread.id, thread);
    return thread as never;
  };
  override saveMessages = async ({ messages }: { messages: unknown[] }) => {
    for (const message of messages as Message[]) this.messages.set(message.id, message);
    return messages as never;
  };
  override rememberMessages = async ({ threadId }: { threadId: string }) =>
    ({ messages: [], messagesV2: this.of(threadId) }) as never;
  override query = async ({ threadId }: { threadId: string }) =>
    ({ messages: [], uiMessages: [], messagesV2: this.of(threadId) }) as never;
  override deleteThread = async (threadId: string) => {
    this.threads.delete(threadId);
    for (const { id } of this.of(threadId)) this.messages.delete(id);
  };
  override getThreadsByResourceId = async () => [];
  override getThreadsByResourceIdPaginated = async () => ({ threads: [] }) as never;
  override getWorkingMemory = async () => null;
  override getWorkingMemoryTemplate = async () => null;
  override updateWorkingMemory = async () => undefined;
  override __experimental_updateWorkingMemoryVNext = async () => ({ success: true, reason: '' });
  override deleteMessages = async () => undefined;
}
