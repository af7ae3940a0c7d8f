import type { AiSdkOptions } from 'nest-agent-query-protocols/ai-sdk';
import { type Page, sharePage } from '../../browser/shared-page.js';
import { startChats } from '../../support/ai-sdk-chat.js';
import { type AdapterName, type Host } from '../../support/host.js';
import { type Call, ScriptedAgent } from '../../support/scripted-agent.js';
import { servePages } from './pages-host.js';

/** A page of chats, and the service that it is served from, for the tests of one suite. */
export class ChatHost {
  agent!: ScriptedAgent;
  host!: Host;
  page!: Page;
  #chats = 0;

  /** @param name that of the page · view the options of `AiSdkModule` */
  constructor(
    private readonly name: string,
    adapter: AdapterName,
    view: AiSdkOptions = {},
  ) {
    const faults = sharePage((opened) => (this.page = opened));
    beforeEach(async () => {
      this.page.setDefaultTimeout(20_000);
      this.agent = new ScriptedAgent();
      this.host = await startChats(adapter, this.agent.handler, {}, view, servePages('dist'));
    });
    afterEach(async () => {
      await this.page.goto('about:blank');
      await this.host.close();
      expect(faults).toEqual([]);
    });
  }

  /** Opens a new chat. */
  async open(query = ''): Promise<void> {
    await this.page.goto('about:blank');
    await this.page.goto(`${this.host.url}/pages/${this.name}.html${query}#chat-${++this.#chats}`);
  }

  /** Refuses all queries, as a service does that cannot take them. */
  async refuse(status: number, detail: string): Promise<void> {
    const headers = { 'retry-after': '1' };
    const body = JSON.stringify({ type: 'about:blank', status, detail });
    await this.page.route('**/ai/chat', (route) =>
      route.fulfill({ status, headers, contentType: 'application/problem+json', body }),
    );
  }

  async takeAgain(): Promise<void> {
    await this.page.unroute('**/ai/chat');
  }
}

/** The conversation that a handler gets: questions and answers. */
export function toldTo({ context }: Call): string[] {
  return context.history.map(({ parts, text }) => {
    const asked = parts.map((part) => (part.type === 'text' ? part.text : part.name));
    return `${asked.join('+')}=${text}`;
  });
}
