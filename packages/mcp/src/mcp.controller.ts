import {
  Delete,
  Get,
  Inject,
  Injectable,
  Post,
  Req,
  Res,
  UseFilters,
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
} from '@nestjs/common';
import {
  header,
  type HostRequest,
  type HostResponse,
  type ProblemForm,
  rawRequest,
  StreamsEnvelopes,
  SubmitsQueries,
} from 'nest-agent-query/protocol';
import type { AgentServer } from './agent-server.js';
import { PLACES } from './arguments.js';
import { callCursorOf } from './call-cursor.js';
import { Exchange } from './exchange.js';
import { type McpSettings, OPTIONS } from './mcp-options.js';
import { AgentTools } from './tools.js';

/** What JSON-RPC has for a request that is refused before it is understood. */
const INVALID_REQUEST = -32600;
const PARSE_ERROR = -32700;
const INTERNAL_ERROR = -32603;

/** Answers a request that is refused before its message is known, as JSON-RPC does. */
@Catch()
@Injectable()
export class McpFilter implements ExceptionFilter {
  constructor(private readonly tools: AgentTools) {}

  catch(error: unknown, host: ArgumentsHost): void {
    this.tools.all[0]!.endpoint.filter(FORM).catch(error, host);
  }
}

const FORM: ProblemForm = ({ status, detail, code, type: _, title: _title, status: _status, ...more }) => ({
  status,
  contentType: 'application/json; charset=utf-8',
  body: {
    jsonrpc: '2.0',
    id: null,
    error: {
      code: codeOf(status, code),
      message: detail,
      data: { code, ...more },
    },
  },
});

function codeOf(status: number, code: string): number {
  if (status >= 500) return INTERNAL_ERROR;
  return code === 'invalid_json' ? PARSE_ERROR : INVALID_REQUEST;
}

/**
 * Of a client of the version 2026-07-28, only a call may submit a query; the server checks that these headers say what the body
 * does. Those of older clients do not tell.
 */
function mayCall(request: HostRequest): boolean {
  const isModern = header(request, 'mcp-protocol-version') === '2026-07-28';
  return (
    rawRequest(request).method === 'POST' && !(isModern && header(request, 'mcp-method') !== 'tools/call')
  );
}

@UseFilters(McpFilter)
// The server of the SDK writes the answers.
@StreamsEnvelopes()
@SubmitsQueries(mayCall)
export class McpController {
  #server: AgentServer | undefined;

  constructor(
    @Inject(OPTIONS) private readonly settings: McpSettings,
    private readonly tools: AgentTools,
  ) {}

  @Post()
  async message(@Req() request: HostRequest, @Res() response: HostResponse): Promise<void> {
    const server = await this.#serverFor(request);
    const { endpoint } = this.tools.reading(header(request, 'mcp-name'));
    await endpoint.withBody(request, PLACES, (body) => server.answer(new Exchange(request, response, body)));
  }

  /** Goes on with the stream of a call that was cut. There is no stream besides those of calls. */
  @Get()
  async stream(@Req() request: HostRequest, @Res() response: HostResponse): Promise<void> {
    const server = await this.#serverFor(request);
    await server.answer(new Exchange(request, response, undefined, callCursorOf(request)));
  }

  /** A session ends by itself. */
  @Delete()
  async end(@Req() request: HostRequest, @Res() response: HostResponse): Promise<void> {
    const server = await this.#serverFor(request);
    await server.answer(new Exchange(request, response));
  }

  /**
   * The server, if it answers a request. It is loaded with the first one: the SDK takes a seventh of the start of a service, and most
   * services are never asked in this protocol.
   *
   * @throws {QueryError} `forbidden`
   */
  async #serverFor(request: HostRequest): Promise<AgentServer> {
    const { AgentServer } = await import('./agent-server.js');
    this.#server ??= new AgentServer(this.settings, this.tools);
    this.#server.origins.check(request);
    return this.#server;
  }
}
