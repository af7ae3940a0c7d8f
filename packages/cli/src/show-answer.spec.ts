import { PassThrough } from 'node:stream';
import type { Answer, AnswerEnvelope } from 'nest-agent-query-client';
import { Outputs } from './outputs.js';
import { AnswerView, type ShowOptions } from './show-answer.js';

/** What is written for an answer with these envelopes. `text` is the valid text. */
async function shown(envelopes: AnswerEnvelope[], options: ShowOptions = {}, text = '') {
  const stdout = new PassThrough({ encoding: 'utf8' });
  const stderr = new PassThrough({ encoding: 'utf8' });
  const streams = [stdout, stderr] as unknown as NodeJS.WriteStream[];
  const answer = {
    after: 0,
    async *[Symbol.asyncIterator]() {
      for (const envelope of envelopes) {
        this.after += 1;
        yield envelope;
      }
    },
    result: () => Promise.resolve({ text }),
  };
  const client = { inputs: () => Promise.reject(new Error('No agent of these tests asks.')) };
  const view = new AnswerView(new Outputs(streams[0], streams[1]), options, client);
  await view.show(answer as unknown as Answer);
  return { stdout: stdout.read() as string, stderr: stderr.read() as string };
}

const said = (content: string): AnswerEnvelope => ({ type: 'message', data: { content } });
const restarted = (from: number): AnswerEnvelope => ({ type: 'restarted', data: { attempt: 2, from } });

const MARK = '--- What is above this line is void. The answer begins again. ---\n';
const NOTE = 'The process of the agent ended. Another one continues the answer (attempt 2).\n';

describe('An answer whose agent restarts', () => {
  it('is printed again after a line that says so, as far as it is valid', async () => {
    expect(await shown([said('One, '), said('tw'), restarted(1), said('two.')])).toEqual({
      stdout: `One, tw\n${MARK}One, two.`,
      stderr: NOTE,
    });
  });

  it('begins again where nothing is valid', async () => {
    expect(await shown([said('One\n'), restarted(0), said('Two')])).toEqual({
      stdout: `One\n${MARK}Two`,
      stderr: NOTE,
    });
  });

  it('goes on where all of its text is valid', async () => {
    const log: AnswerEnvelope = { type: 'log', data: { message: 'Thinking' } };
    expect(await shown([said('One, '), log, restarted(1), said('two')])).toEqual({
      stdout: 'One, two',
      stderr: `log: Thinking\n${NOTE}`,
    });
  });

  it('has no void text with --whole', async () => {
    const { stdout } = await shown([said('One'), restarted(0), said('Two')], { whole: true }, 'Two');
    expect(stdout).toBe('Two');
  });

  it('is all envelopes with --json', async () => {
    const { stdout, stderr } = await shown([said('One'), restarted(0)], { json: true });
    expect(stdout).toBe(
      '{"type":"message","data":{"content":"One"}}\n{"type":"restarted","data":{"attempt":2,"from":0}}\n',
    );
    expect(stderr).toBe(null);
  });
});
