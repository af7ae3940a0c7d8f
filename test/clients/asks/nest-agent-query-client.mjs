/** The client of this project. */
import { AgentQueryClient } from 'nest-agent-query-client';

export default function create() {
  return {
    can: ['stream', 'files', 'sessions', 'abort', 'questions', 'usage'],
    async ask({ url, key, text, session, files, approve, signal, onText }) {
      const client = new AgentQueryClient({ baseUrl: url, headers: { authorization: `Bearer ${key}` } });
      const contents = files.map(({ name, mimeType, base64 }) => ({
        name,
        mimeType,
        content: Buffer.from(base64, 'base64'),
      }));
      const answer = client.ask(text, { files: contents, sessionId: session, signal });
      for await (const { type, data } of answer) {
        if (type === 'message') onText(data.content);
        if (type === 'input_required' && approve) await answer.respond(answer.requests.map(approvalOf));
      }
      const { usage } = await answer.result();
      return { text: await answer.text(), usage: usage && [usage.inputTokens, usage.outputTokens] };
    },
  };
}

const approvalOf = ({ id }) => ({ id, outcome: 'answered', value: { approved: true } });
