import { Buffer } from 'node:buffer';
import {
  type Envelope,
  file,
  type HandlerFunction,
  log,
  message,
  progress,
  type Query,
  QueryError,
  type QueryContext,
} from 'nest-agent-query';

type Answer = AsyncIterable<Envelope>;
type Script = (given: Record<string, unknown>, context: QueryContext) => Answer;

const PNG = Buffer.from('iVBORw0KGgo=', 'base64');

const form = (properties: object, required: string[] = []) => ({ type: 'object', properties, required });
const text = { type: 'string' };

/** Asks with a form, and says what was answered. */
async function* asking(context: QueryContext, key: string, question: string, schema: object): Answer {
  const [answer] = await context.ask([{ key, kind: 'input', message: question, schema: { ...schema } }]);
  const action = answer!.outcome === 'answered' ? 'accept' : 'decline';
  yield message(`Elicitation completed: action=${action}, content=${JSON.stringify(answer!.value ?? {})}`);
}

const titled = (values: string[]) => values.map((value) => ({ const: value, title: `Title of ${value}` }));

/** What the tools of the suite do, by their names. */
const SCRIPTS: Record<string, Script> = {
  async *test_simple_text() {
    yield message('This is a simple text response for testing.');
  },
  async *test_image_content() {
    yield file({ name: 'a.png', mimeType: 'image/png', content: PNG });
  },
  async *test_audio_content() {
    yield file({ name: 'a.wav', mimeType: 'audio/wav', content: Buffer.from('RIFF') });
  },
  async *test_embedded_resource() {
    yield file({
      name: 'a.txt',
      mimeType: 'text/plain',
      content: Buffer.from('This is an embedded resource content.'),
    });
  },
  async *test_multiple_content_types() {
    yield message('Multiple content types test:');
    yield file({ name: 'a.png', mimeType: 'image/png', content: PNG });
    yield file({ name: 'a.json', mimeType: 'application/json', content: Buffer.from('{"test":"data"}') });
  },
  // eslint-disable-next-line require-yield
  async *test_error_handling() {
    throw new QueryError('handler_failed', 'This tool intentionally returns an error for testing');
  },
  async *test_tool_with_progress() {
    for (const done of [0, 50, 100]) {
      yield progress(done, { total: 100 });
      await new Promise(setImmediate);
    }
    yield message('Done.');
  },
  async *test_logging_tool() {
    yield log('Looking');
    yield message('Done.');
  },
  test_elicitation: ({ message: question }, context) =>
    asking(context, 'q', question as string, form({ username: text, email: text }, ['username'])),
  test_streaming_elicitation: (_, context) => asking(context, 'q', 'Who are you?', form({ name: text })),
  test_elicitation_sep1034_defaults: (_, context) =>
    asking(
      context,
      'q',
      'Please review',
      form({
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      }),
    ),
  test_elicitation_sep1330_enums: (_, context) =>
    asking(
      context,
      'q',
      'Please choose',
      form({
        untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
        titledSingle: { type: 'string', oneOf: titled(['value1', 'value2', 'value3']) },
        legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
        untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
        titledMulti: { type: 'array', items: { anyOf: titled(['value1', 'value2', 'value3']) } },
      }),
    ),
  test_input_required_result_elicitation: (_, context) =>
    asking(context, 'user_name', 'What is your name?', form({ name: text }, ['name'])),
  test_input_required_result_request_state: (_, context) =>
    asking(context, 'confirm', 'Please confirm', form({ ok: { type: 'boolean' } }, ['ok'])),
  test_input_required_result_tampered_state: (_, context) =>
    asking(context, 'confirm', 'Please confirm', form({ ok: { type: 'boolean' } }, ['ok'])),
  async *test_input_required_result_multi_round(_, context) {
    yield* asking(context, 'step1', 'Step 1: What is your name?', form({ name: text }, ['name']));
    yield* asking(context, 'step2', 'Step 2: What is your favorite color?', form({ color: text }, ['color']));
  },
  async *greet({ name }) {
    yield message(`Hello, ${String(name)}!`);
  },
  async *slow_compute({ seconds }, { signal }) {
    await pause(1000 * Number(seconds), signal);
    yield message('Computed.');
  },
  // eslint-disable-next-line require-yield
  async *failing_job(_, { signal }) {
    await pause(1000, signal);
    throw new QueryError('handler_failed', 'The job has failed.');
  },
  confirm_delete: ({ filename }, context) =>
    asking(
      context,
      'confirm',
      `Delete ${String(filename)}?`,
      form({ confirm: { type: 'boolean' } }, ['confirm']),
    ),
  async *multi_input(_, context) {
    const asked = (key: string) => ({
      key,
      kind: 'input' as const,
      message: 'Which?',
      schema: form({ value: text }),
    });
    const answers = await context.ask([asked('first'), asked('second')]);
    yield message(JSON.stringify(answers.map(({ value }) => value)));
  },
};

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** The tools of the suite. Those whose calls become tasks are only these of its extension. */
export const TOOLS = Object.keys(SCRIPTS).map((name) => ({
  name,
  tasks: !name.startsWith('test_') && name !== 'greet',
}));

/** Does what the suite wants of the tool that the text names, with the arguments in the kwargs. */
export const handler: HandlerFunction = (query: Query, context) => {
  const [part] = query.parts;
  return SCRIPTS[part?.type === 'text' ? part.text : '']!(query.kwargs, context);
};
