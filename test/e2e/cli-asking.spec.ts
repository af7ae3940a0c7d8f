import { AgentQueryClient, type InputView } from 'nest-agent-query-client';
import { message, type Query, type QueryContext, type Question } from '../../src/index.js';
import { promise } from '../promises.js';
import { quickCommand } from '../support/command-line.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';

const REFUND: Question = {
  key: 'refund 881',
  kind: 'approval',
  message: 'Refund?\n\x1b[2Jcall: nothing',
  name: 'refund',
  arguments: { amount: 120, note: '\x1b' },
  editable: true,
};
const QUARTER: Question = { key: 'quarter', kind: 'input', message: 'Which quarter?' };
/** A time as commands print it. */
const TIME = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;

describeOnOneAdapter('The command line, of runs that ask on %s,', (adapter) => {
  let host: Host;
  let client: AgentQueryClient;
  let questions: Question[];

  beforeEach(async () => {
    questions = [REFUND];
    host = await startAgent(adapter, async function* (_: Query, context: QueryContext) {
      yield message('Let me see. ');
      const answers = await context.ask(questions);
      yield message(JSON.stringify(answers.map(({ outcome, value }) => [outcome, value])));
    });
    client = new AgentQueryClient({ baseUrl: host.url });
  });
  afterEach(() => host.close());

  const run = (...parameters: string[]) => quickCommand(parameters, { AGENT_QUERY_URL: host.url });
  /** Starts a run that asks. */
  async function asking(): Promise<string> {
    const runId = await client.ask('Hello', { detached: true }).runId;
    // A stream that is left lets fetch open a connection without a request, for which a host that closes waits a second.
    await eventually(async () => (await client.run(runId)).status === 'input_required');
    return runId;
  }

  it(promise('cli.asks'), async () => {
    questions = [REFUND, QUARTER];
    const asked = await run('ask', 'Hello', '--session', 's');
    expect(asked).toMatchObject({ stdout: 'Let me see. ', code: 5 });
    const [asks] = (await client.runs()).runs;
    const { id, status } = asks!;
    expect(status).toBe('input_required');
    const lines = asked.stderr.replace(new RegExp(TIME, 'g'), 'TIME').split('\n');
    expect(lines).toEqual([
      `The run ${id} asks, and goes on when it is answered.`,
      'approval refund 881, until TIME',
      '| Refund?',
      '| ␛[2Jcall: nothing',
      'call: refund',
      String.raw`arguments: {"amount":120,"note":"\u001b"}`,
      `To answer: nest-agent-query answer ${id} 'refund 881' --approve | --reject | --arguments JSON | --decline`,
      'input quarter, until TIME',
      '| Which quarter?',
      `To answer: nest-agent-query answer ${id} quarter --text TEXT | --decline`,
      `To read the rest: nest-agent-query follow ${id} --after 2`,
      '',
    ]);

    const followed = await run('follow', id, '--json');
    expect(followed.code).toBe(5);
    expect(
      followed.stdout.split('\n').map((line) => line && (JSON.parse(line) as { type: string }).type),
    ).toEqual(['message', 'input_required', '']);
    // The envelope that asks is known already.
    const rest = await run('follow', id, '--after', '2');
    expect(rest).toMatchObject({ stdout: '', code: 5 });
    expect(rest.stderr).toContain(`nest-agent-query answer ${id} quarter`);
    expect((await run('session', 's')).stderr).toBe(`A run has not ended: nest-agent-query follow ${id}\n`);
    expect((await run('sessions')).stdout).toMatch(/^s .* asks {2,}Hello$/m);
    expect((await run('runs', '--status', 'input_required')).stdout).toContain(id);
  });

  it(promise('cli.asks', 'and chat reads no further line'), async () => {
    const chat = await quickCommand(['chat'], { AGENT_QUERY_URL: host.url }, 'Hello\nAgain\n');
    expect(chat).toMatchObject({ stdout: 'Let me see. \n', code: 5 });
    expect((await client.runs()).runs).toHaveLength(1);
  });

  it(promise('cli.asks', 'and what was resolved is a line'), async () => {
    questions = [REFUND, { ...QUARTER, private: true }];
    const id = await asking();
    await client.answer(id, [
      { id: 'refund 881', outcome: 'answered', value: { approved: false } },
      { id: 'quarter', outcome: 'answered', value: 'secret' },
    ]);
    expect(await run('follow', id)).toEqual({
      stdout: 'Let me see. [["answered",{"approved":false}],["answered","secret"]]',
      stderr: `asks: approval refund 881: Refund? ␛[2Jcall: nothing
asks: input quarter: Which quarter?
answered refund 881: {"approved":false}
answered quarter
`,
      code: 0,
    });
  });

  it.each([
    [['--approve'], '["answered",{"approved":true}]'],
    [['--approve', '--reason', 'fine'], '["answered",{"approved":true,"reason":"fine"}]'],
    [['--arguments', '{"amount":1}'], '["answered",{"approved":true,"arguments":{"amount":1}}]'],
    [['--reject', '--reason', 'no'], '["answered",{"approved":false,"reason":"no"}]'],
    [['--decline'], '["declined",null]'],
    [['--value', '{"approved":true}'], '["answered",{"approved":true}]'],
  ])(promise('cli.answer', '%j'), async (parameters, expected) => {
    const answered = await run('answer', await asking(), ...parameters, '--follow');
    expect(answered).toMatchObject({ stdout: `[${expected}]`, code: 0 });
  });

  it(promise('cli.answer', 'one of several'), async () => {
    questions = [REFUND, QUARTER];
    const id = await asking();
    const unnamed = await run('answer', id, '--approve');
    expect(unnamed).toEqual({
      stdout: '',
      stderr: `error: The run ${id} has several open requests. Name one of them: refund 881, quarter\n`,
      code: 2,
    });
    const first = await run('answer', id, 'quarter', '--text', 'Q1');
    expect(first).toEqual({
      stdout: `The answer to quarter was accepted. The run ${id} still asks.\n`,
      stderr: '',
      code: 0,
    });
    const again = await run('answer', id, 'quarter', '--text', 'Q2');
    expect(again).toMatchObject({ stdout: '', code: 3 });
    expect(again.stderr).toMatch(
      /The request "quarter" was answered at \S+ in another way\. .* \(input_resolved\)\n$/,
    );
    const wrong = await run('answer', id, '--value', '{"approved":1}');
    expect(wrong).toMatchObject({ code: 3 });
    expect(wrong.stderr).toContain('(invalid_answer)\n  /answers/0/value');
    const second = await run('answer', id, '--approve', '--json');
    expect(JSON.parse(second.stdout)).toMatchObject({ id, events: 4 });
    await eventually(async () => (await client.run(id)).status === 'completed');
    expect(await run('answer', id, '--approve')).toMatchObject({
      stderr: `error: The run ${id} has no open request.\n`,
      code: 2,
    });
  });

  it.each([
    [[], 'There is no answer. Give one of --approve'],
    [['--approve', '--decline'], 'There is more than one answer. Give one.'],
    [['--text', 'a', '--reason', 'b'], 'Only an approval has a reason'],
    [['--value', 'a'], 'It must be JSON.'],
    [['--arguments', '[]'], 'It must be a JSON object.'],
  ])(promise('cli.answer-usage', '%j'), async (parameters, sentence) => {
    const refused = await run('answer', 'some-run', ...parameters);
    expect(refused).toMatchObject({ stdout: '', code: 2 });
    expect(refused.stderr).toContain(sentence);
  });

  it(promise('cli.inputs'), async () => {
    expect(await run('inputs')).toEqual({ stdout: '', stderr: 'There are no open requests.\n', code: 0 });
    questions = [REFUND, QUARTER];
    const first = await asking();
    const second = await asking();
    await client.answer(first, [{ id: 'quarter', outcome: 'declined' }]);
    const [heading, ...rows] = (await run('inputs')).stdout.trimEnd().split('\n');
    expect(heading).toMatch(/^RUN +ID +KIND +STATE +EXPIRES +MESSAGE$/);
    expect(rows.map((row) => row.slice(0, 36))).toEqual([second, second, first]);
    expect(rows[2]).toMatch(
      new RegExp(`^${first}  refund 881  approval  open   ${TIME}  Refund\\? ␛\\[2Jcall: nothing$`),
    );
    const ofRun = await run('inputs', first, '--json');
    const views = ofRun.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as InputView);
    expect(views).toMatchObject([
      { runId: first, id: 'refund 881', resolved: null },
      { runId: first, id: 'quarter', resolved: { outcome: 'declined' } },
    ]);
    const some = await run('inputs', first, '--limit', '1');
    expect(some.stderr).toBe('There are more. To see them: --limit 10\n');
    expect(await run('inputs', 'none')).toMatchObject({ code: 3 });
  });
});
