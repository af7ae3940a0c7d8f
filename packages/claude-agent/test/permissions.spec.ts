import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collect, contextOf, queryOf } from 'nest-agent-query/testing';
import { type ClaudeAgentOptions, fromClaudeAgent } from '../src/index.js';

/** Several turns of the event loop. */
const setTurn = async () => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
};

/** What the SDK is given to ask with. */
interface ClaudeHooks {
  hooks: { PreToolUse: { hooks: ((call: object) => Promise<unknown>)[] }[] };
  canUseTool: (name: string, input: unknown, call: { toolUseID: string }) => Promise<unknown>;
}

describe('What Claude Code asks the handler', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'claude-agent-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('refuses what a subagent wants to make and a person must allow, and what the rules refuse', async () => {
    const said: unknown[] = [];
    const query: ClaudeAgentOptions['query'] = ({ options, prompt }) => {
      async function* messages() {
        const { hooks, canUseTool } = options as unknown as ClaudeHooks;
        const call = { tool_name: 'Bash', tool_input: {}, tool_use_id: 'c1', prompt_id: 'p', agent_id: 'a' };
        said.push(await hooks.PreToolUse[0]!.hooks[0]!(call));
        said.push(await canUseTool('Read', {}, { toolUseID: 'c2' }));
        const asked = prompt[Symbol.asyncIterator]();
        await asked.next();
        // A prompt that is over refuses the call that waits.
        const isOpen = await Promise.race([asked.next().then(() => false), setTurn().then(() => true)]);
        said.push({ isOpen });
        yield { type: 'result', subtype: 'success', stop_reason: 'end_turn' };
      }
      return Object.assign(messages(), { interrupt: () => Promise.resolve() });
    };
    await collect(fromClaudeAgent({ query, directory }).handle(await queryOf('Do it'), await contextOf()));
    expect(said).toMatchObject([
      { hookSpecificOutput: { permissionDecision: 'deny' } },
      { behavior: 'deny', message: 'Not executed. The rules of the service do not allow this call.' },
      { isOpen: true },
    ]);
  });
});
