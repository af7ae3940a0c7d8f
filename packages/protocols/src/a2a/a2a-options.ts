import type { ViewOptions } from '../view/view.js';
import type { AgentCardOptions } from './card/agent-card.js';

/** Where the view is, whose runs it shows, and what its agent card says. */
export interface A2aModuleOptions extends ViewOptions {
  /** What the card says of the agent. Default: its name, and that it takes any file. */
  card?: AgentCardOptions;
  /** Class decorators of the controller of the card, which is public by default. Default: none. */
  cardDecorators?: ClassDecorator[];
  /** The URL of the view as its callers use it, such as `https://agents.example.com/a2a`. Default: from each request for the card. */
  url?: string;
}
