import type { ApiKey } from './api-key.js';
import type { Conversation } from './conversation.js';
import { addressOf, type Endpoint } from './endpoints.js';
import { OtherWindows } from './other-windows.js';
import { Service } from './service.js';
import { Store } from './store.js';
import type { Question, Turn } from './turn.js';
import { rootOf } from './versions.js';

export type View = 'conversation' | 'wire';

/** What the window shows. Its address names it, so that it is the same after a reload. */
export class Page extends Store {
  readonly services: Service[];
  service: Service;
  conversation: Conversation;
  view: View = 'conversation';
  isDrawerOpen = false;

  constructor(
    endpoints: Endpoint[],
    readonly key: ApiKey,
  ) {
    super();
    const windows = new OtherWindows(({ endpoint, session, told }) =>
      this.services.find((service) => addressOf(service.endpoint) === endpoint)?.hear(session, told),
    );
    this.services = endpoints.map(
      (endpoint) =>
        new Service(endpoint, key, (session, told) =>
          windows.tell({ endpoint: addressOf(endpoint), session, told }),
        ),
    );
    this.service = this.services[0]!;
    this.conversation = this.service.unused;
    key.subscribe(() => {
      const { sessions } = this.service;
      if (key.value !== undefined && sessions.fault !== undefined) void sessions.reload();
    });
    window.addEventListener('popstate', () => void this.#open());
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') this.#lookAgain();
    });
    void this.#open();
  }

  /** What the user has chosen is shown at once: what is typed next belongs there. */
  override changed(): void {
    this.version += 1;
    this.draw();
  }

  select(id: string): void {
    this.isDrawerOpen = false;
    this.view = 'conversation';
    void this.#go(this.service, id);
  }

  /** Opens the conversation whose run asks. */
  showRequest(session: string, runId: string, id: string): void {
    this.select(session);
    this.conversation.showRequest(runId, id);
  }

  startNew(): void {
    this.isDrawerOpen = false;
    this.view = 'conversation';
    void this.#go(this.service, undefined);
  }

  chooseAgent(name: string): void {
    void this.#go(
      this.services.find(({ endpoint }) => endpoint.name === name)!,
      undefined,
    );
  }

  show(view: View): void {
    this.view = view;
    this.changed();
  }

  openDrawer(isOpen: boolean): void {
    this.isDrawerOpen = isOpen;
    this.changed();
  }

  /** Asks in the conversation that is shown, or in the one that the user has named, which is shown then. */
  async ask(question: Question, id = this.conversation.id): Promise<void> {
    const { service } = this;
    if (id !== this.conversation.id) await this.#go(service, id);
    const conversation = service.conversation(id);
    conversation.ask(question);
    // The conversation has its first question: from now on the address names it.
    if (this.conversation === conversation) history.replaceState(null, '', this.#addressOf(service, id));
  }

  /** Asks another text in place of a question, or the same, in a version of the conversation that is shown then. */
  async askInstead(turn: Turn, text: string): Promise<void> {
    const version = await this.conversation.newVersion(turn, text);
    if (version) await this.ask(version.question, version.id);
  }

  /** Erases a conversation with its versions, as far as they are listed. */
  async erase(id: string): Promise<void> {
    const { service, conversation } = this;
    const others = service.sessions.list.filter(
      (other) => other.id !== id && rootOf(other.id) === rootOf(id),
    );
    for (const each of [...others.map((other) => other.id), id]) await service.erase(each);
    if (rootOf(conversation.id) === rootOf(id)) this.startNew();
  }

  #go(service: Service, id: string | undefined): Promise<void> {
    const address = this.#addressOf(service, id);
    if (address !== (location.hash || '#')) history.pushState(null, '', address);
    return this.#open();
  }

  #addressOf({ endpoint: { name } }: Service, id: string | undefined): string {
    const parameters = new URLSearchParams({
      ...(this.services.length > 1 && { agent: name }),
      ...(id !== undefined && { session: id }),
    });
    return `#${parameters}`;
  }

  /** Shows what the address names. */
  async #open(): Promise<void> {
    const parameters = new URLSearchParams(location.hash.slice(1));
    const agent = parameters.get('agent');
    this.service = this.services.find(({ endpoint }) => endpoint.name === agent) ?? this.services[0]!;
    const id = parameters.get('session');
    const { service } = this;
    const isOpen = !id || service.isOpen(id);
    const conversation = id ? service.conversation(id) : service.unused;
    this.conversation = conversation;
    this.changed();
    if (!service.sessions.isLoaded) await service.sessions.load();
    if (!id) return;
    if (isOpen) return conversation.live ? undefined : conversation.refresh();
    const { fault } = service.sessions;
    if (fault === undefined) return conversation.load(service.sessions.find(id)?.turns);
    // The same would be wrong with the conversation. The user may try again.
    conversation.fault = fault;
    conversation.changed();
  }

  /** Another window may have asked meanwhile. */
  #lookAgain(): void {
    const { conversation, service } = this;
    void service.sessions.reload();
    if (conversation.isKept && !conversation.isLoading && !conversation.live) void conversation.refresh();
  }
}
