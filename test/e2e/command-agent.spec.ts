import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promise } from '../promises.js';
import { anyRuns, pidsIn, STUBBORN } from '../support/child-processes.js';
import { ask, cancel, FULL, get, type Reply, request } from '../support/client.js';
import { eventuallyElsewhere } from '../support/conditions.js';
import { ROOT } from '../support/documents.js';
import { serve, type SharedService } from '../support/service.js';

/** It writes until it has to wait for a second, and then notes how many bytes it has written. */
const ENDLESS = `import os, select
os.set_blocking(1, False)
written = 0
while True:
    if not select.select([], [1], [], 1.0)[1]: break
    try: written += os.write(1, b"x" * 4095 + b"\\n")
    except BlockingIOError: pass
open("written", "w").write(str(written) + "\\n")
while True: select.select([], [], [], 1000)
`;

const DESCRIBE = `import json, os, sys
query = json.loads(sys.stdin.read())
text, file = query["parts"]
print(text["text"], query["kwargs"]["n"], query["owner"], file["name"], open(file["path"]).read())
print(json.dumps({"type": "path", "data": file["path"]}))
print(json.dumps({"type": "run", "data": query["runId"]}), end="")
`;

/** It asks, waits for the answer, and prints what it gets. */
const LIVE = `import json, os, sys
sys.stdin.readline()
print(os.getpid(), os.getppid(), flush=True)
request = {"id": "name", "kind": "input", "message": "Who?"}
print(json.dumps({"type": "input_required", "data": {"requests": [request]}}), flush=True)
[answer] = json.loads(sys.stdin.readline())["data"]["answers"]
print("Hello", answer.get("value", answer["outcome"]), os.getpid())
`;

const APPROVAL = `python3 ${join(ROOT, 'examples/command/approval.py')}`;
const PAID = { approved: true, arguments: { customer: 881, amount: 100 } };

describe('The agent command', () => {
  let directory: string;
  let service: SharedService | undefined;
  /** Services that execute the shell script that a test writes. The second keeps the input of its program open. */
  let plain: SharedService;
  let keeping: SharedService;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'command-agent-'));
    await writeFile(join(directory, 'stubborn.py'), STUBBORN);
    await writeFile(join(directory, 'endless.py'), ENDLESS);
    await writeFile(join(directory, 'describe.py'), DESCRIBE);
    await writeFile(join(directory, 'live.py'), LIVE);
    const variables = { AGENT: 'command', COMMAND: 'sh ./script' };
    plain = await serve(variables, directory);
    keeping = await serve({ ...variables, COMMAND_KEEP_INPUT: 'true' }, directory);
  });

  afterEach(async () => {
    await service?.stop();
    service = undefined;
  });
  afterAll(async () => {
    await plain.stop();
    await keeping.stop();
    await rm(directory, { recursive: true });
  });

  const write = (script: string) => writeFile(join(directory, 'script'), script);

  async function start(COMMAND: string, environment: Record<string, string> = {}): Promise<SharedService> {
    return (service = await serve({ AGENT: 'command', COMMAND, ...environment }, directory));
  }

  function answer(url: string, runId: string, id: string, value: unknown): Promise<Reply> {
    const answers = [{ id, outcome: 'answered', value }];
    return request(url, { path: `/query/${runId}/inputs` }, JSON.stringify({ answers }));
  }

  it(promise('files.answer', 'of a program, which writes it in base64'), async () => {
    const lines = [
      '{"name":"a.txt","mimeType":"text/plain","base64":"SGk="}',
      '{"name":"a.txt","mimeType":"x/y","base64":"?"}',
    ];
    await write(lines.map((data) => `echo '{"type":"file","data":${data}}'`).join(';'));
    const { url } = plain;
    const reply = await ask(url, 'x');
    const [made, done] = await reply.allEnvelopes();
    const { path } = made!.data as { path: string };
    expect(made).toMatchObject({ type: 'file', data: { name: 'a.txt', mimeType: 'text/plain', size: 2 } });
    expect(await (await get(url, path)).whole()).toBe('Hi');
    const message =
      'The agent emitted something that is not an envelope: `data.base64` of a `file` is not base64.';
    expect(done!.data).toEqual({ status: 'failed', error: { code: 'invalid_envelope', message } });
  });

  it(promise('service.command'), async () => {
    await write('python3 describe.py');
    const file = { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64: 'SGk=' };
    const query = { parts: [{ type: 'text', text: 'hello' }, file], kwargs: { n: 7 } };
    const reply = await request(plain.url, {}, JSON.stringify(query));
    const text = await reply.whole();
    expect(text).toMatch(
      new RegExp(
        '^data: {"type":"message","data":{"content":"hello 7 anonymous a.txt Hi\\\\n"}}\n\n' +
          'data: {"type":"path","data":"[^"]+/1.txt"}\n\n' +
          `data: {"type":"run","data":"${reply.runId}"}\n\n` +
          'data: {"type":"done","data":{"status":"completed"}}\n\n$',
      ),
    );
    const [, path] = /"path","data":"([^"]+)"/.exec(text)!;
    expect(existsSync(path!)).toBe(false);
  });

  it(promise('service.command', 'an invalid envelope'), async () => {
    await write(`echo '{"type":"message","data":{}}'; sleep 1000`);
    expect(await (await ask(plain.url, '')).whole()).toMatch(
      /"failed","error":{"code":"invalid_envelope","message":"The agent emitted something that is not an envelope: /,
    );
  });

  it(promise('service.command', 'a program that is not there'), async () => {
    const starting = start('no-such-program agent.py');
    await expect(starting).rejects.toThrow(
      'COMMAND cannot be executed. There is no program "no-such-program". Install it, or correct its name or path.',
    );
  });

  it(promise('service.command-cancel'), async () => {
    const { url } = await start('python3 stubborn.py | cat', { STOP_DEADLINE_MS: '2000' });
    const answer = await ask(url, '');
    const pids = pidsIn(await answer.until('content'));
    expect(await anyRuns(pids)).toBe(true);
    const cancelled = await cancel(url, answer.runId);
    expect(cancelled.status).toBe(200);
    expect(await anyRuns(pids)).toBe(false);
    expect(await answer.whole()).toContain('"cancelled"');
  });

  it(promise('service.command-cancel', 'the time limit of a run'), async () => {
    // A shell prints within the time limit also on a slow machine, where Python may not have started by then.
    const stubborn = `trap '' TERM; sleep 1000 & echo $$ $!; while :; do sleep 1000; done`;
    const { url } = await start(stubborn, { STOP_DEADLINE_MS: '2000', RUN_TIMEOUT_MS: '3000' });
    const text = await (await ask(url, '')).whole();
    expect(text).toContain('"run_timeout"');
    expect(await anyRuns(pidsIn(text))).toBe(false);
  });

  it(promise('service.command-failure'), async () => {
    await write('echo part; echo "cannot read /etc/secret" >&2; exit 7');
    const answer = await ask(plain.url, '');
    expect(await answer.whole()).toBe(
      'data: {"type":"message","data":{"content":"part\\n"}}\n\n' +
        'data: {"type":"done","data":{"status":"failed","error":{"code":"handler_failed",' +
        '"message":"The agent failed. The service has logged the cause."}}}\n\n',
    );
    for (const cause of [
      `Run ${answer.runId}: cannot read /etc/secret`,
      'The program ended with the exit code 7. The last lines of its standard error:',
    ])
      await eventuallyElsewhere(() => plain.output().includes(cause));
  });

  it(promise('service.command-back-pressure'), async () => {
    const { url } = await start('python3 endless.py', { STOP_DEADLINE_MS: '1000' });
    const answer = await ask(url, '', { isStalled: true });
    const path = join(directory, 'written');
    await eventuallyElsewhere(() => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n'));
    const written = Number(readFileSync(path, 'utf8'));
    expect(written).toBeGreaterThan(64 * 1024);
    expect(written).toBeLessThan(32 * 1024 * 1024);
    await cancel(url, answer.runId);
    answer.cut();
  });

  it(promise('service.command-secrets'), async () => {
    const { url } = await start('env | sort', { MY_KEY: 'mine', STOP_DEADLINE_MS: '2000' });
    const text = await (await ask(url, '')).whole();
    expect(text).toContain('MY_KEY=mine');
    expect(text).not.toMatch(/DATABASE_URL|STOP_DEADLINE_MS|COMMAND|AGENT=/);
  });

  it.each(['false', 'true'])(promise('asking.command', 'COMMAND_KEEP_INPUT=%s'), async (keeps) => {
    await write(APPROVAL);
    const { url } = keeps === 'true' ? keeping : plain;
    const reply = await ask(url, '', { headers: FULL });
    await reply.until('input_required');
    const run = await (await get(url, `/query/${reply.runId}`)).json();
    expect(run).toMatchObject({ status: 'input_required' });
    expect((await answer(url, reply.runId, 'refund-881', PAID)).status).toBe(200);
    const envelopes = await reply.allEnvelopes();
    expect(envelopes).toMatchObject([
      { type: 'message', data: { content: 'Let me see. ' } },
      {
        type: 'input_required',
        data: { requests: [{ id: 'refund-881', name: 'refund', editable: true, onExpire: 'decline' }] },
      },
      { type: 'input_resolved', data: { answers: [{ id: 'refund-881', outcome: 'answered', value: PAID }] } },
      { type: 'message', data: { content: '100 EUR are refunded.' } },
      { type: 'done', data: { status: 'completed' } },
    ]);
  });

  it(promise('asking.command-live'), async () => {
    await write('python3 live.py');
    const { url } = keeping;
    const reply = await ask(url, '', { headers: FULL });
    await reply.until('input_required');
    await answer(url, reply.runId, 'name', 'Ada');
    const { text, done } = await reply.answer();
    expect(text).toMatch(/^(\d+) \d+\nHello Ada \1\n$/);
    expect(done).toEqual([{ status: 'completed' }]);
  });

  it(promise('asking.command-slot'), async () => {
    const { url } = await start(APPROVAL, { COMMAND_PROCESSES: '1' });
    const replies = [await ask(url, '', { headers: FULL }), await ask(url, '', { headers: FULL })];
    await Promise.all(replies.map((reply) => reply.until('input_required')));
    await answer(url, replies[1]!.runId, 'refund-881', { approved: false });
    expect((await replies[1]!.answer()).text).toBe('Let me see. Nothing is refunded.');
    await answer(url, replies[0]!.runId, 'refund-881', { approved: true });
    expect((await replies[0]!.answer()).text).toBe('Let me see. 120 EUR are refunded.');
  });

  it(promise('asking.command-cancel'), async () => {
    await write('python3 live.py; true');
    const { url } = keeping;
    const reply = await ask(url, '', { headers: FULL });
    const pids = pidsIn(await reply.until('input_required'));
    expect(await anyRuns(pids)).toBe(true);
    expect((await cancel(url, reply.runId)).status).toBe(200);
    expect(await anyRuns(pids)).toBe(false);
    expect(await reply.whole()).toMatch(/"outcome":"cancelled"[^]*"status":"cancelled"/);
  });

  it.each([
    ['{"requests":5}', 'The agent asked without `data.requests`, an array of requests.'],
    [
      '{"requests":[{"id":"a","kind":"b","message":"c"}]}',
      'The agent asked something that is not valid. The question "a" cannot be asked: its kind must be one of approval, ' +
        'input, tool, auth.',
    ],
  ])(promise('asking.command-invalid', '%s'), async (data, message) => {
    await write(`echo '{"type":"input_required","data":${data}}'; exit 75`);
    const { done } = await (await ask(plain.url, '')).answer();
    expect(done).toEqual([{ status: 'failed', error: { code: 'invalid_envelope', message } }]);
  });
});
