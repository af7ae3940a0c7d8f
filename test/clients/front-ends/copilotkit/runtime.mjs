/** The server that CopilotKit needs between a page and its agent: `AGENT_URL` is that of the agent. */
import { createServer } from 'node:http';
import process from 'node:process';
import { HttpAgent } from '@ag-ui/client';
import { CopilotRuntime } from '@copilotkit/runtime/v2';
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node';

const runtime = new CopilotRuntime({ agents: { default: new HttpAgent({ url: process.env.AGENT_URL }) } });
const server = createServer(createCopilotNodeListener({ runtime, basePath: '/api/copilotkit', cors: true }));
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/api/copilotkit`);
});
