import { type DynamicModule, Module } from '@nestjs/common';
import { viewModule } from '../view/view.js';
import { A2aController } from './a2a.controller.js';
import type { A2aModuleOptions } from './a2a-options.js';
import { faultsOfCard } from './card/agent-card.js';
import { CARD_PATH, CardController } from './card/card.controller.js';
import { Sending } from './message/sending.js';
import { Operations } from './operations.js';
import { TaskList } from './tasks/task-list.js';
import { a2aPaths } from './paths.js';
import { Tasks } from './tasks/tasks.js';

export type { ViewOptions } from '../view/view.js';
export type { A2aModuleOptions } from './a2a-options.js';
export { type AgentCardOptions, type AgentSkill, faultsOfCard } from './card/agent-card.js';

/**
 * Shows the runs of a `QueryModule` to clients of A2A 1.0 (JSON-RPC and REST at `/a2a`) and of A2A 0.3 (JSON-RPC at the same path),
 * and the card of the agent at `/.well-known/agent-card.json`.
 *
 * @example
 * imports: [QueryModule.forRoot({ handler }), A2aModule.forRoot({ card: { name: 'Research' } })];
 */
@Module({ providers: [Operations, Sending, TaskList, Tasks] })
export class A2aModule {
  /** Returns its routes at the paths of the defaults, after a prefix such as `/api`: the `paths` of an OpenAPI document. */
  static readonly paths = a2aPaths;

  /**
   * @param options `path` is by default `a2a`
   * @throws {TypeError} an option is unknown, or the card is not valid: with a line for each fault
   */
  static forRoot(options: A2aModuleOptions = {}): DynamicModule {
    const { card = {}, cardDecorators = [] } = options;
    const faults = faultsOfCard(card);
    if (faults.length > 0)
      throw new TypeError(faults.map((fault) => `A2aModule: of the option "card", ${fault}`).join('\n'));
    const routes = { controller: CardController, pathBeside: cardPath, decorators: cardDecorators };
    return viewModule(
      A2aModule,
      A2aController,
      { path: 'a2a', ...options },
      {
        own: { card: true, cardDecorators: true, url: true },
        others: [routes],
      },
    );
  }
}

/** The card of `research/a2a` is at `research/.well-known/agent-card.json`. */
function cardPath(path: string): string {
  return [...path.split('/').slice(0, -1), CARD_PATH].join('/');
}
