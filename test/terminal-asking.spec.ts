import { AgentQueryClient } from 'nest-agent-query-client';
import { message, type Query, type QueryContext, type Question } from '../src/index.js';
import { eventually } from './support/conditions.js';
import { type Host, startAgent } from './support/host.js';
import { describeWithTerminal, Terminal } from './support/terminal.js';

const CTRL_C = '\x03';
const CTRL_D = '\x04';
const CTRL_U = '\x15';
const REFUND: Question = {
  key: 'refund',
  kind: 'approval',
  message: 'Refund?\ncall: \x1b[2Jnothing',
  name: 'refund',
  arguments: { amount: 120 },
  editable: true,
};
const FORM: Question = {
  key: 'form',
  kind: 'input',
  message: 'Which quarter?',
  schema: { type: 'object', properties: { quarter: { enum: ['Q1', 'Q2'] } }, required: ['quarter'] },
};
const SHORT: Question = {
  key: 'short',
  kind: 'input',
  message: 'A code',
  schema: { type: 'string', maxLength: 2 },
};
const SIGN_IN: Question = { key: 'in', kind: 'auth', message: 'Sign in', url: 'https://example.org/in' };

describeWithTerminal('A run that asks, on a terminal,', () => {
  let host: Host;
  let client: AgentQueryClient;
  let terminal: Terminal;
  let questions: Question[];

  beforeEach(async () => {
    questions = [REFUND];
    host = await startAgent('fastify', async function* (_: Query, context: QueryContext) {
      yield message('Let me see. ');
      const answers = await context.ask(questions);
      yield message(`Got ${JSON.stringify(answers.map(({ outcome, value }) => value ?? outcome))}`);
    });
    client = new AgentQueryClient({ baseUrl: host.url });
  });
  afterEach(async () => {
    await terminal.stop();
    await host.close();
  });

  const start = (...parameters: string[]) =>
    (terminal = new Terminal(parameters, { AGENT_QUERY_URL: host.url, NO_COLOR: '1' }));
  const runOf = async () => (await client.runs()).runs[0]!;

  it('asks the person, who sees all of a call and no line that is not what it seems', async () => {
    start('ask', 'Hello');
    await terminal.until('d: give no answer');
    expect(terminal.screen).toMatch(
      /Let me see\. \r\napproval refund, until .{19}\r\n\| Refund\?\r\n\| call: ␛\[2Jnothing\r\ncall: refund\r\narguments: {"amount":120}\r\n/,
    );
    await terminal.typeAtPrompt('y\r');
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.screen).toContain('answered refund: {"approved":true}\r\nGot [{"approved":true}]\r\n');
  });

  it('asks one after the other, and asks again what the service does not take', async () => {
    questions = [REFUND, FORM, SHORT, SIGN_IN];
    start('ask', 'Hello');
    await terminal.typeAtPrompt('e\r');
    await terminal.untilAfter('', '{"amount":120}');
    terminal.type(`${CTRL_U}{"amount":5}\r`);
    await terminal.until('It must be one of: Q1, Q2.');
    await terminal.typeAtPrompt('Q2\r');
    await terminal.until('| A code');
    await terminal.untilAfter('long\r', '/answers/0/value');
    await terminal.typeAtPrompt('ok\r');
    await terminal.until('sign in at: https://example.org/in');
    await terminal.typeAtPrompt('\r');
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.screen).toContain(
      'Got [{"approved":true,"arguments":{"amount":5}},{"quarter":"Q2"},"ok",{}]\r\n',
    );
  });

  it('stays as it is when the person leaves with Ctrl-D, and follow asks what is left', async () => {
    questions = [REFUND, SIGN_IN];
    start('ask', 'Hello');
    await terminal.typeAtPrompt('n\r');
    await terminal.until('Why (may be empty)');
    await terminal.typeAtPrompt('too much\r');
    await terminal.until('d to give no answer');
    await terminal.typeAtPrompt(CTRL_D);
    expect(await terminal.ended).toEqual([5, null]);
    const { id, status } = await runOf();
    expect(status).toBe('input_required');
    expect(terminal.screen).toContain(
      `To answer: nest-agent-query answer ${id} in --value '{}' | --decline\r\n`,
    );
    expect(terminal.screen).not.toContain(`answer ${id} refund`);
    start('follow', id, '--after', '2');
    await terminal.typeAtPrompt('d\r');
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.screen).toContain('Got [{"approved":false,"reason":"too much"},"declined"]\r\n');
    expect(terminal.screen).not.toContain('approval refund');
  });

  it('is cancelled at Ctrl-C, and left by follow', async () => {
    start('ask', 'Hello');
    await terminal.typeAtPrompt(CTRL_C);
    expect(await terminal.ended).toEqual([130, null]);
    expect(terminal.screen).toMatch(/cancelled refund\r\n[^]*The run \S+ was cancelled\.\r\n/);
    expect((await runOf()).status).toBe('cancelled');

    const answer = client.ask('Hello', { detached: true });
    for await (const { type } of answer) if (type === 'input_required') break;
    start('follow', await answer.runId);
    await terminal.typeAtPrompt(CTRL_C);
    expect(await terminal.ended).toEqual([130, null]);
    expect(terminal.screen).toContain('Left the run, which may go on.');
    expect((await client.run(await answer.runId)).status).toBe('input_required');
  });

  it('goes on when somebody else has answered first', async () => {
    start('ask', 'Hello');
    await terminal.until('d: give no answer');
    const { id } = await runOf();
    await client.answer(id, [{ id: 'refund', outcome: 'answered', value: { approved: false } }]);
    await eventually(async () => (await client.run(id)).status === 'completed');
    await terminal.typeAtPrompt('y\r');
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.screen).toContain('(input_resolved)');
    expect(terminal.screen).toContain('Got [{"approved":false}]\r\n');
  });

  it('asks in a conversation, also when the conversation is opened again', async () => {
    start('chat', '-s', 's');
    await terminal.until('/help shows');
    await terminal.typeAtPrompt('Hello\r');
    await terminal.until('Approve');
    await terminal.typeAtPrompt(CTRL_D);
    await terminal.until('To read the rest:');
    await terminal.typeAtPrompt('/exit\r');
    expect(await terminal.ended).toEqual([0, null]);
    start('chat', '-s', 's');
    await terminal.until('A run of this session has not ended. This is its answer:');
    await terminal.until('Approve');
    await terminal.typeAtPrompt('y\r');
    await terminal.until('Got [{"approved":true}]');
    await terminal.typeAtPrompt(CTRL_D);
    expect(await terminal.ended).toEqual([0, null]);
  });
});
