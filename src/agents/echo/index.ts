import { fileType } from '../../parts/part-readers.js';
import { type Envelope, type HandlerFunction, message, type Query } from '../../query/index.js';

/** How many characters of a text are shown. */
const SHOWN_LENGTH = 200;

/** How an operator gets an agent that does more. */
const NEXT = `Nobody looks into it: this is the agent of a service that has no other one. To get more, stop the service, and

- run \`npm install nest-agent-query-files\`: then files are described, and tables answer SQL;
- or serve your own agent: \`npx nest-agent-query serve ./agent.mjs\`;
- or serve a model: run \`npm install nest-agent-query-ai-sdk ai@6\`, then
  \`npx nest-agent-query serve model --model-base-url http://127.0.0.1:11434/v1 --model llama3.2\`.
`;

/** The agent of a service whose operator has configured none and installed none: it says what has arrived, and how to get more. */
export const echo: HandlerFunction = async function* ({ parts }: Query): AsyncGenerator<Envelope> {
  yield message('This has arrived:\n\n');
  for (const part of parts) yield message(`- ${await lineOf(part)}\n`);
  yield message(`\n${NEXT}`);
};

async function lineOf(part: Query['parts'][number]): Promise<string> {
  if (part.type === 'file')
    return `the file ${JSON.stringify(part.name)}: ${await fileType(part)}, ${part.file.size} bytes`;
  const { text } = part;
  const shown = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
  return `a text of ${text.length} characters: ${JSON.stringify(shown)}`;
}
