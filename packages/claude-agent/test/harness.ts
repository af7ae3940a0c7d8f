import type { AdapterHarness, AskingHarness } from '../../../test/contracts/adapters/harness.js';
import type { AgentHandler, QueryContext } from 'nest-agent-query';
import { fromClaudeAgent } from '../src/index.js';
import { scriptedQuery } from './scripted-query.js';

const ONE_AT_A_TIME =
  'Claude Code forgets all calls of a step that wait but one: the others are refused, to be made again';
const AS_TEXT = 'Claude Code keeps its own conversation; a foreign one is told as a text';

/**
 * The Claude Agent SDK, with a script in the place of its program.
 *
 * @param directory of the test that is executed
 */
export function claudeHarness(directory: () => string): AdapterHarness {
  return {
    name: 'claude-agent',
    create: (model, tools, options) =>
      withOwnRunIds(
        fromClaudeAgent({ ...options, ask: [], query: scriptedQuery(model, tools), directory: directory() }),
      ),
    cannot: {
      toolError: 'Claude Code executes the tools: what they say of an error is their result',
      sources: 'Of sources, the SDK reports none',
      fileOut: 'Claude writes files into its directory, and reports none',
      failedQuestion: AS_TEXT,
      failedAnswer: AS_TEXT,
      contextTokens: 'Claude Code keeps the conversation, and summarizes it itself',
      backPressure: 'the SDK reads what the program writes as fast as it comes',
    },
  };
}

/** The same, with tools that ask. */
export function claudeAskingHarness(directory: () => string): AskingHarness {
  return {
    name: 'claude-agent',
    create: (model, tools, options) => {
      const executed = tools.map(({ name, execute }) => ({ name, execute: execute ?? (() => null) }));
      return fromClaudeAgent({
        ...options,
        ask: tools.filter(({ needsApproval }) => needsApproval).map(({ name }) => name),
        query: scriptedQuery(model, executed),
        directory: directory(),
      });
    },
    cannot: {
      edit: 'Claude Code keeps the arguments of the model in the conversation, and the model reads of the change beside it',
      several: ONE_AT_A_TIME,
      mixed: ONE_AT_A_TIME,
      callerTool: 'Claude Code executes all tools itself',
      superseded: AS_TEXT,
    },
  };
}

/** The service gives a run and its turn one id; the contexts of tests number their turns. */
function withOwnRunIds(handler: AgentHandler): AgentHandler {
  const executed: string[] = [];
  const handle = handler.handle.bind(handler);
  handler.handle = (query, context: QueryContext) => {
    const history = context.history.map((turn, index) => ({ ...turn, runId: executed[index] ?? turn.runId }));
    executed.push(context.runId);
    return handle(query, Object.assign(context, { history }));
  };
  return handler;
}
