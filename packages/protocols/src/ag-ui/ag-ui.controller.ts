import { Get, HttpCode, Injectable, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import {
  type Cursor,
  cursorOf,
  EventStream,
  header,
  type HostRequest,
  type HostResponse,
  invalidQuery,
  type ProblemForm,
  rawResponse,
  StreamsEnvelopes,
} from 'nest-agent-query/protocol';
import { View, ViewFilter } from '../view/view.js';
import { connected } from './connection.js';
import { PLACES } from './parts.js';
import { runInputOf } from './run-input.js';
import { followed, RUN_KEY, runNamed } from './runs.js';
import { Thread } from './thread.js';

/** Refusals as JSON with the members of a `RUN_ERROR`, and those of a problem that say more. */
@Injectable()
class AgUiFilter extends ViewFilter {
  protected readonly form: ProblemForm = ({
    status,
    detail: message,
    code,
    type: _,
    title: _title,
    ...more
  }) => ({
    status,
    contentType: 'application/json; charset=utf-8',
    body: { message, code, ...more },
  });
}

@UseFilters(AgUiFilter)
@StreamsEnvelopes((routes: AgUiController) => routes.view.endpoint.responses)
export class AgUiController {
  constructor(readonly view: View) {}

  /** Begins a run, answers interrupts, or resumes a stream (`Last-Event-ID`), whose body is not read. */
  @Post()
  @HttpCode(200)
  async run(@Req() request: HostRequest): Promise<EventStream> {
    const { endpoint } = this.view;
    const cursor = cursorOf(request);
    if (cursor)
      return this.#resume(await endpoint.owner(request), cursor, header(request, 'x-run-id'), request);
    return endpoint.withBody(request, PLACES, async (body, owner) => {
      const thread = new Thread(endpoint, owner, runInputOf(body.value), request);
      const read = await thread.read();
      return read instanceof EventStream ? read : thread.submit(body, read, this.view.queryPath(request));
    });
  }

  /** Shows a thread to a page that was loaded again: its messages so far, and the answer that goes on. */
  @Post('connect')
  @HttpCode(200)
  async connect(@Req() request: HostRequest, @Res() response: HostResponse): Promise<EventStream> {
    const { endpoint } = this.view;
    const path = this.view.queryPath(request, 'connect') ?? '';
    return endpoint.withBody(request, PLACES, ({ value }, owner) =>
      connected(
        { agent: endpoint.agent, owner, request, response: rawResponse(response), path },
        runInputOf(value),
      ),
    );
  }

  /** Follows a run from its beginning, or from the event after a cursor. */
  @Get()
  async join(
    @Req() request: HostRequest,
    @Query() parameters: Record<string, unknown>,
  ): Promise<EventStream> {
    const { agent } = this.view.endpoint;
    const owner = await this.view.endpoint.owner(request);
    const { runId, offset = '-1' } = parameters;
    if (typeof runId !== 'string' || runId === '')
      throw invalidQuery([
        { pointer: '/runId', detail: 'must be a run: ?runId= and the id that you have given it' },
      ]);
    const cursor = cursorOf(request) ?? offsetOf(offset);
    if (cursor) return this.#resume(owner, cursor, runId, request);
    const run = await runNamed(agent, owner, runId);
    return followed(agent, owner, run, { threadId: run.session ?? run.id, runId }, request);
  }

  async #resume(
    owner: string,
    { runId: id, seq }: Cursor,
    name: string | undefined,
    request: HostRequest,
  ): Promise<EventStream> {
    const { agent } = this.view.endpoint;
    const run = await agent.find(owner, id);
    const runId = name ?? run.metadata?.[RUN_KEY] ?? id;
    return followed(agent, owner, run, { threadId: run.session ?? id, runId, from: seq + 1 }, request);
  }
}

/** The cursor of the parameter `offset`; undefined for the beginning. */
function offsetOf(offset: unknown): Cursor | undefined {
  const [, runId, seq] = /^([\w-]{1,100})\.(\d{1,15})$/.exec(String(offset)) ?? [];
  if (runId !== undefined) return { runId, seq: Number(seq) };
  if (offset === '-1') return undefined;
  throw invalidQuery([{ pointer: '/offset', detail: 'must be -1, or the id of an event' }]);
}
