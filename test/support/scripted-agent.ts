import type { HandlerFunction } from '../../src/index.js';
import { ScriptedHandler } from '../../src/testing/index.js';

export { ScriptedCall as Call } from '../../src/testing/index.js';

/** An agent of which the test decides what each call emits and how it ends, with its handler as a function. */
export class ScriptedAgent extends ScriptedHandler<Record<string, unknown>> {
  readonly handler: HandlerFunction = (query, context) => this.handle(query, context);

  /** @param ignoresSignal whether the handler ignores its signal */
  constructor(ignoresSignal = false) {
    super(undefined, { ignoresSignal });
  }
}
