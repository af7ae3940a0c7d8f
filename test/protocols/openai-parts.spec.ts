import { type HandlerFunction, message } from '../../src/index.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { type Json, post, startOpenAi } from './openai-host.js';

const BASE64 = Buffer.from('abc').toString('base64');
const PNG = `data:image/png;base64,${BASE64}`;
const PDF = `data:application/pdf;base64,${BASE64}`;

const IMAGE = 'image.png image/png abc';
const FILE = 'a.pdf application/pdf abc';

describeOnOneAdapter('A part of a message of OpenAI on %s', (adapter) => {
  let host: Host;
  const tells: HandlerFunction = async function* ({ parts }) {
    for (const part of parts)
      yield message(
        part.type === 'text' ? part.text : `${part.name} ${part.mimeType} ${await part.file.text()}`,
      );
  };
  beforeAll(async () => {
    host = await startOpenAi(adapter, tells);
  });
  afterAll(async () => {
    await host.idle();
    await host.close();
  });
  const respond = (content: unknown) => post(host.url, 'responses', { input: [{ role: 'user', content }] });
  const complete = (content: unknown) =>
    post(host.url, 'chat/completions', { messages: [{ role: 'user', content }] });

  it.each([
    [{ type: 'input_text', text: 'x' }, 'x'],
    [{ type: 'output_text', text: 'x', annotations: [] }, 'x'],
    [{ type: 'text', text: 'x' }, 'x'],
    [{ type: 'input_image', image_url: PNG, detail: 'auto' }, IMAGE],
    [{ type: 'input_image', image_url: { url: PNG } }, IMAGE],
    [{ type: 'image_url', image_url: { url: PNG, detail: 'low' } }, IMAGE],
    [{ type: 'image_url', image_url: PNG }, IMAGE],
    [{ type: 'input_file', filename: 'a.pdf', file_data: PDF }, FILE],
    [{ type: 'input_file', file: { filename: 'a.pdf', file_data: PDF } }, FILE],
    [{ type: 'file', file: { filename: 'a.pdf', file_data: PDF } }, FILE],
    [{ type: 'file', filename: 'a.pdf', file_data: PDF, file: null }, FILE],
    [{ type: 'input_file', filename: null, file_data: BASE64 }, 'file application/octet-stream abc'],
    [{ type: 'input_audio', input_audio: { data: BASE64, format: 'mp3' } }, 'audio.mp3 audio/mpeg abc'],
  ])('is the same in a response and in a chat: %j', async (part, text) => {
    const response = await (await respond([part])).json<Json>();
    expect(response.output).toMatchObject([{ content: [{ text }] }]);
    const completion = await (await complete([part])).json<Json>();
    expect(completion['choices']).toMatchObject([{ message: { content: text } }]);
  });

  it.each([
    [{ type: 'image_url', image_url: { url: 'https://a.example/' } }, 'image_url.url'],
    [{ type: 'image_url', image_url: { url: 1 } }, 'image_url.url'],
    [{ type: 'image_url', image_url: [PNG] }, 'image_url'],
    [{ type: 'image_url', image_url: { url: { url: PNG } } }, 'image_url.url'],
    [{ type: 'input_image', image_url: null }, 'image_url'],
    [{ type: 'input_image', file_id: 'file-1' }, 'file_id'],
    [{ type: 'input_file', file_url: 'https://a.example/' }, 'file_url'],
    [{ type: 'file', file: { file_id: 'file-1' } }, 'file.file_id'],
    [{ type: 'file', file: 'file-1' }, 'file'],
    [{ type: 'file', file: { file_data: null } }, 'file.file_data'],
    [{ type: 'input_file', file_data: ['x'] }, 'file_data'],
    [{ type: 'input_audio', data: BASE64, format: 'wav' }, 'input_audio'],
    [{ type: 'input_audio', input_audio: { data: 1, format: 'wav' } }, 'input_audio.data'],
    [{ type: 'image', source_type: 'base64', data: BASE64 }, 'type'],
    [{ text: 'x' }, 'type'],
  ])('is refused where its fault is: %j', async (part, param) => {
    for (const [reply, name] of [
      [await respond([part]), 'input'],
      [await complete([part]), 'messages'],
    ] as const) {
      const { error } = await reply.json<{ error: { message: string } }>();
      expect([reply.status, error]).toMatchObject([400, { param: `${name}[0].content[0].${param}` }]);
      if (param === 'type')
        expect(error.message).toBe(
          `"${name}[0].content[0].type" must be one of input_text, output_text, text, refusal, input_image, image_url, ` +
            'input_file, file, input_audio.',
        );
    }
  });
});
