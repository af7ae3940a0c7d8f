import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsEmail,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Length,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { EMPTY, lastValueFrom, toArray } from 'rxjs';
import {
  AgentHandler,
  type HandlerFunction,
  message,
  type Query,
  QueryModule,
  type QueryModuleOptions,
} from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { promise } from '../promises.js';
import { ask, follow, FULL, request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';

class ModelDto {
  @IsString()
  name!: string;
}

class PaintKwargs {
  @IsOptional()
  @IsNumber()
  @Max(2)
  temperature = 0.5;

  @IsOptional()
  @ValidateNested()
  @Type(() => ModelDto)
  model?: ModelDto;

  get isHot(): boolean {
    return this.temperature > 1;
  }
}

/** Rules in several orders. */
class OrdersKwargs {
  @IsOptional()
  @IsNumber()
  @Max(2)
  typeFirst?: number;

  @IsOptional()
  @Max(2)
  @Min(0)
  @IsNumber()
  typeLast?: number;

  @IsOptional()
  @Length(1, 3)
  @IsString()
  @IsEmail()
  typeBetween?: string;

  @IsOptional()
  @Length(1, 3)
  @IsEmail()
  withoutType?: string;

  @IsOptional()
  @Max(2, { each: true })
  @IsInt({ each: true })
  all?: number[];

  @IsOptional()
  @ArrayMaxSize(1)
  @IsArray()
  @ValidateNested()
  @Type(() => ModelDto)
  models?: ModelDto[];
}

class PaintHandler extends AgentHandler<PaintKwargs> {
  static readonly given: PaintKwargs[] = [];

  async *handle({ kwargs }: Query<PaintKwargs>) {
    PaintHandler.given.push(kwargs);
    yield message(`${kwargs.model?.name ?? 'default'} ${kwargs.isHot ? 'hot' : 'cold'}`);
  }
}

describeOnOneAdapter('A class for kwargs on %s', (adapter) => {
  let host: Host;
  beforeEach(() => (PaintHandler.given.length = 0));
  beforeAll(async () => {
    host = await startHost(adapter, QueryModule.forRoot({ handler: PaintHandler, kwargs: PaintKwargs }));
  });
  afterAll(() => host.close());

  it(promise('kwargs.typed'), async () => {
    const kwargs = { temperature: 1.5, model: { name: 'm' }, session_id: 's', other: [{ a: 1 }] };
    const answer = await ask(host.url, 'Hello', { kwargs });
    expect(await answer.answer()).toEqual({ text: 'm hot', done: [{ status: 'completed' }] });
    const [given] = PaintHandler.given;
    expect(given).toBeInstanceOf(PaintKwargs);
    expect(given!.model).toBeInstanceOf(ModelDto);
    expect(given).toMatchObject(kwargs);
  });

  it(promise('kwargs.typed', 'also where the body has none'), async () => {
    const answer = await request(host.url, {}, '{"parts":[{"type":"text","text":"Hello"}]}');
    expect(await answer.answer()).toEqual({ text: 'default cold', done: [{ status: 'completed' }] });
    expect(PaintHandler.given).toEqual([new PaintKwargs()]);
  });

  it(promise('kwargs.faults'), async () => {
    const body = {
      parts: [{ type: 'text' }],
      kwargs: { temperature: 'hot', model: { name: 1 }, session_id: 2 },
    };
    const answer = await request(host.url, {}, JSON.stringify(body));
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      code: 'invalid_query',
      errors: [
        { pointer: '/parts/0/text', detail: 'must be a string' },
        { pointer: '/kwargs/session_id', detail: 'must be a string' },
        {
          pointer: '/kwargs/temperature',
          detail: 'must be a number conforming to the specified constraints',
        },
        { pointer: '/kwargs/model/name', detail: 'must be a string' },
      ],
    });
    expect(PaintHandler.given).toEqual([]);
  });

  it(promise('kwargs.basic-rule'), async () => {
    const module = QueryModule.forRoot({ handler: () => EMPTY, kwargs: OrdersKwargs });
    const ordered = await startHost(adapter, module);
    const faultsOf = async (kwargs: object) => {
      const body = JSON.stringify({ parts: [{ type: 'text', text: 'Hello' }], kwargs });
      const refused = await request(ordered.url, {}, body);
      return (await refused.json<{ errors: object[] }>()).errors;
    };
    const types = { typeFirst: 'x', typeLast: 'x', typeBetween: 4, all: ['x'], models: 'x' };
    expect(await faultsOf(types)).toEqual([
      { pointer: '/kwargs/typeFirst', detail: 'must be a number conforming to the specified constraints' },
      { pointer: '/kwargs/typeLast', detail: 'must be a number conforming to the specified constraints' },
      { pointer: '/kwargs/typeBetween', detail: 'must be a string' },
      { pointer: '/kwargs/all', detail: 'each value in all must be an integer number' },
      { pointer: '/kwargs/models', detail: 'must be an array' },
    ]);
    expect(await faultsOf({ typeFirst: 3, typeLast: -1, withoutType: 'long', models: [{}, {}] })).toEqual([
      { pointer: '/kwargs/typeFirst', detail: 'must not be greater than 2' },
      { pointer: '/kwargs/typeLast', detail: 'must not be less than 0' },
      { pointer: '/kwargs/withoutType', detail: 'must be shorter than or equal to 3 characters' },
      { pointer: '/kwargs/models', detail: 'must contain no more than 1 elements' },
    ]);
    expect(await faultsOf({ models: [{}] })).toEqual([
      { pointer: '/kwargs/models/0/name', detail: 'must be a string' },
    ]);
    await ordered.close();
  });

  it(promise('kwargs.in-process'), async () => {
    const parts = [{ type: 'text' as const, text: 'Hello' }];
    const answered = host.agent.query({ parts, kwargs: { temperature: 2 } });
    expect(await lastValueFrom(answered.pipe(toArray()))).toMatchObject([
      message('default hot'),
      { type: 'done' },
    ]);
    expect(PaintHandler.given).toEqual([Object.assign(new PaintKwargs(), { temperature: 2 })]);
    let released = 0;
    const refused = host.agent.query({ parts, kwargs: { temperature: 3 } }, { release: () => released++ });
    await expect(lastValueFrom(refused)).rejects.toMatchObject({
      code: 'invalid_query',
      extras: { errors: [{ pointer: '/kwargs/temperature', detail: 'must not be greater than 2' }] },
    });
    expect(released).toBe(1);
  });

  it(promise('kwargs.recovered'), async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kwargs-'));
    const url = `file:${join(directory, 'runs.db')}`;
    const blocks: HandlerFunction<PaintKwargs> = () => new Promise<never>(() => undefined);
    const runs = { drainMs: 0, stopDeadlineMs: 0 };
    const mount = async (handler: QueryModuleOptions<PaintKwargs>['handler']) =>
      startHost(
        adapter,
        QueryModule.forRoot({ handler, kwargs: PaintKwargs, store: await openStore(url), runs }),
      );
    const first = await mount(blocks);
    const kwargs = { temperature: 1.5, model: { name: 'm' }, session_id: 's' };
    await ask(first.url, 'executes', { kwargs });
    const queued = await ask(first.url, 'waits', { kwargs, headers: FULL });
    await queued.until('ahead.');
    await first.close();
    expect(PaintHandler.given).toEqual([]);

    const second = await mount(PaintHandler);
    const envelopes = await (await follow(second.url, queued.runId)).allEnvelopes();
    expect(envelopes.slice(-2)).toEqual([message('m hot'), { type: 'done', data: { status: 'completed' } }]);
    expect(PaintHandler.given).toHaveLength(1);
    expect(PaintHandler.given[0]).toBeInstanceOf(PaintKwargs);
    expect(PaintHandler.given[0]!.model).toBeInstanceOf(ModelDto);
    await second.close();
    await rm(directory, { recursive: true });
  });
});
