import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentHandler, Query, QueryContext } from 'nest-agent-query';
import type { FakeModel } from '../../../test/contracts/adapters/fake-model.js';
import type { AdapterHarness, AskingHarness, AskingTool } from '../../../test/contracts/adapters/harness.js';
import { fromAcp } from '../src/index.js';
import { ModelServer } from './model/server.js';

const AGENT = join(import.meta.dirname, 'model-agent.mjs');

/** Who keeps the conversation decides what the model reads of it. */
const OWN_CONVERSATION =
  'an agent of the protocol keeps the conversation, and decides what its model reads of it';

/** What the agents of one test have in common: their folder, and the ports of their models. */
export class AgentsOfTest {
  readonly #directory = mkdtempSync(join(tmpdir(), 'acp-'));
  readonly #servers: ModelServer[] = [];

  async create(
    model: FakeModel,
    tools: (Omit<AskingTool, 'needsApproval'> & { needsApproval?: boolean })[],
  ): Promise<AgentHandler> {
    const server = await ModelServer.start(model, tools);
    this.#servers.push(server);
    const described = tools.map(({ name, needsApproval }) => ({ name, needsApproval }));
    return ofHistory(
      fromAcp({
        command: process.execPath,
        args: [AGENT],
        env: { MODEL_PORT: String(server.port), TOOLS: JSON.stringify(described) },
        directory: this.#directory,
        files: 'link',
      }),
    );
  }

  async end(): Promise<void> {
    for (const server of this.#servers) await server.close();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** The contract names a run `run-1`, and the same one in the history of the next `turn-1`. */
function ofHistory(handler: AgentHandler): AgentHandler {
  const handle = handler.handle.bind(handler);
  return Object.assign(handler, {
    handle: (query: Query, context: QueryContext) =>
      handle(query, { ...context, runId: context.runId.replace('run-', 'turn-') }),
  });
}

/**
 * An agent that speaks ACP, with a fake model.
 *
 * @param agents of the test that is executed
 */
export function acpHarness(agents: () => AgentsOfTest): AdapterHarness {
  return {
    name: 'acp',
    create: (model, tools) => agents().create(model, tools),
    cannot: {
      toolError: 'what a failed call says is a text of the agent, which callers get as it is',
      usage: 'an agent of the protocol tells its usage once a turn, and not of which model',
      failedQuestion: OWN_CONVERSATION,
      failedAnswer: OWN_CONVERSATION,
      contextTokens: OWN_CONVERSATION,
      checkpoint: 'the protocol does not say where a step ends, so that a lost turn begins again',
    },
  };
}

/**
 * The same, with tools that ask.
 *
 * @param agents of the test that is executed
 */
export function acpAskingHarness(agents: () => AgentsOfTest): AskingHarness {
  const noReason = 'the protocol has no place for the reason of a refusal';
  const lost =
    'a question of the protocol lives in the process of the agent, so that a later process makes the call anew';
  return {
    name: 'acp',
    create: (model, tools) =>
      agents().create(
        model,
        tools.filter(({ execute }) => execute),
      ),
    cannot: {
      refuse: noReason,
      unanswered: noReason,
      mixed: noReason,
      edit: 'the protocol allows a call only as it is',
      restart: lost,
      crash: lost,
      callerTool: 'all tools of the agent are executed by the agent',
      superseded: OWN_CONVERSATION,
    },
  };
}
