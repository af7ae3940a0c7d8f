import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { freePort } from '../../../test/support/free-port.mjs';

const PROGRAM = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
);

/** The MCP server of the project that has made the protocol, as a program. */
export const EVERYTHING = { command: process.execPath, args: [PROGRAM, 'stdio'] };

/** The same server over HTTP. */
export class HttpMcpServer {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(): Promise<HttpMcpServer> {
    const port = await freePort();
    const child = spawn(process.execPath, [PROGRAM, 'streamableHttp'], {
      env: { ...process.env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    for await (const chunk of child.stderr) if (String(chunk).includes('listening on port')) break;
    return new HttpMcpServer(`http://127.0.0.1:${port}/mcp`, child);
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }
}
