import 'reflect-metadata';
import { type INestApplication, Module, type Type, VersioningType } from '@nestjs/common';
import { ApiProperty, ApiTags, DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { Validator } from '@seriousme/openapi-schema-validator';
import { IsNumber, IsOptional } from 'class-validator';
import { message, QueryModule } from 'nest-agent-query';
import { STATUS_OF_CODE } from 'nest-agent-query/protocol';
import { ask, ScriptedHandler } from 'nest-agent-query/testing';
import { adapterNamed, describeOnOneAdapter } from '../../../test/support/host.js';
import { describeQueryModules } from './index.js';

class PaintKwargs {
  @ApiProperty({ type: 'number', minimum: 0, maximum: 2, required: false })
  @IsOptional()
  @IsNumber()
  temperature = 0.5;
}

const ROUTES = [
  'delete {base}/sessions/{sessionId}',
  'delete {base}/{runId}',
  'get {base}',
  'get {base}/inputs',
  'get {base}/sessions',
  'get {base}/sessions/{sessionId}',
  'get {base}/usage',
  'get {base}/{runId}',
  'get {base}/{runId}/deliveries',
  'get {base}/{runId}/files/{sha256}',
  'get {base}/{runId}/inputs',
  'post {base}',
  'post {base}/sessions/{sessionId}/fork',
  'post {base}/{runId}/deliveries/{id}',
  'post {base}/{runId}/inputs',
  'post {base}/files',
  'head {base}/files/{sha256}',
];

/** The codes that only `done` has, and that of what is described as `default`. */
const NOT_BEFORE_A_STREAM = [
  'handler_failed',
  'invalid_envelope',
  'run_timeout',
  'followers_stalled',
  'answer_too_fast',
  'interrupted',
  'refused',
];

interface Described {
  operationId: string;
  tags: string[];
  parameters: { name: string; in: string; required?: boolean }[];
  requestBody: { content: Record<string, { schema: { properties: Record<string, object> } }> };
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

/** The operations of a document by method and path. */
function operationsOf(document: OpenAPIObject): Record<string, Described> {
  const entries = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => [`${method} ${path}`, operation as Described] as const),
  );
  return Object.fromEntries(entries);
}

/** What is wrong with a document; undefined if nothing is. */
async function faultsOf(document: OpenAPIObject): Promise<unknown> {
  const copy = JSON.parse(JSON.stringify(document)) as Record<string, unknown>;
  return (await new Validator().validate(copy)).errors;
}

describeOnOneAdapter('The document of an application on %s', (adapter) => {
  let app: INestApplication;
  afterEach(() => app.close());

  it.each(['3.0.0', '3.1.0'])('is valid as OpenAPI %s', async (version) => {
    await start(QueryModule.forRoot({ handler, kwargs: PaintKwargs }));
    expect(await faultsOf(documentOf(version))).toBeUndefined();
  });

  it('has every route of each module, with unique ids, under the prefixes of the host', async () => {
    await start(
      [QueryModule.forRoot({ handler }), QueryModule.forRoot({ handler, path: 'agents/research' })],
      (host) => {
        host.setGlobalPrefix('api');
        host.enableVersioning({ type: VersioningType.URI, defaultVersion: ['1', '2'] });
      },
    );
    const operations = operationsOf(documentOf());
    const bases = ['/api/v1/query', '/api/v2/query', '/api/v1/agents/research', '/api/v2/agents/research'];
    const expected = bases.flatMap((base) => ROUTES.map((route) => route.replace('{base}', base)));
    expect(Object.keys(operations).sort()).toEqual(expected.sort());
    const ids = Object.values(operations).map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(operations['post /api/v1/query']!.operationId).toBe('Query_submit_v1');
    expect(operations['post /api/v2/agents/research']!.operationId).toBe('AgentsResearch_submit_v2');
    expect(await faultsOf(documentOf())).toBeUndefined();
  });

  it('describes each route', async () => {
    await start(QueryModule.forRoot({ handler }));
    for (const [route, operation] of Object.entries(operationsOf(documentOf()))) {
      expect([route, operation]).toEqual([route, expect.objectContaining({ summary: expect.any(String) })]);
      const names = operation.parameters.map(({ name, in: place }) => `${place} ${name.toLowerCase()}`);
      expect([route, names.length]).toEqual([route, new Set(names).size]);
      const optional = operation.parameters.filter(({ in: place }) => place !== 'path');
      expect(optional.filter(({ required }) => required)).toEqual([]);
    }
  });

  it('has the body of a query, with the class for kwargs of each module', async () => {
    await start([
      QueryModule.forRoot({ handler, kwargs: PaintKwargs }),
      QueryModule.forRoot({ handler, path: 'plain' }),
    ]);
    const document = documentOf();
    const operations = operationsOf(document);
    const bodyOf = (route: string) =>
      operations[route]!.requestBody.content['application/json']!.schema.properties;
    expect(bodyOf('post /query')['parts']).toMatchObject({
      minItems: 1,
      items: {
        oneOf: [
          { $ref: '#/components/schemas/QueryTextPart' },
          { $ref: '#/components/schemas/QueryFilePart' },
        ],
        discriminator: {
          propertyName: 'type',
          mapping: {
            text: '#/components/schemas/QueryTextPart',
            file: '#/components/schemas/QueryFilePart',
          },
        },
      },
    });
    expect(bodyOf('post /query')['kwargs']).toMatchObject({
      allOf: [{ $ref: '#/components/schemas/PaintKwargs' }, { properties: { session_id: {} } }],
    });
    expect(document.components!.schemas!['PaintKwargs']).toMatchObject({
      properties: { temperature: { minimum: 0, maximum: 2 } },
    });
    expect(bodyOf('post /plain')['kwargs']).toMatchObject({
      properties: { session_id: {} },
      additionalProperties: true,
    });
  });

  it('has what a run asks and how it is answered, as the body, in lists and in the stream', async () => {
    await start(QueryModule.forRoot({ handler }));
    const document = documentOf();
    const operations = operationsOf(document);
    const { requestBody, responses } = operations['post /query/{runId}/inputs']!;
    expect(requestBody.content['application/json']!.schema.properties['answers']).toMatchObject({
      minItems: 1,
      maxItems: 64,
      items: { $ref: '#/components/schemas/QueryInputAnswer' },
    });
    expect(Object.keys(responses['200']!.content!)).toEqual(['text/event-stream', 'application/json']);
    const schemas = document.components!.schemas as Record<
      string,
      { required: string[]; properties: Record<string, object> }
    >;
    expect(schemas['QueryInputRequest']!.required).toEqual([
      'id',
      'kind',
      'message',
      'expiresAt',
      'onExpire',
    ]);
    expect(schemas['QueryInputRequiredData']!.properties['requests']).toMatchObject({
      items: { $ref: '#/components/schemas/QueryInputRequest' },
    });
    expect(schemas['QueryInput']!.properties['resolved']).toMatchObject({
      nullable: true,
      allOf: [{ $ref: '#/components/schemas/QueryInputResolution' }],
    });
    const next = { type: 'string', nullable: true };
    expect(schemas['QueryInputList']!.properties).toMatchObject({
      inputs: { items: { $ref: '#/components/schemas/QueryInput' } },
      next,
    });
    expect(schemas['QueryRunInputs']!.properties).not.toHaveProperty('next');
  });

  it('has the stream with its envelopes, and problems with all their codes', async () => {
    await start(QueryModule.forRoot({ handler }));
    const operations = operationsOf(documentOf());
    const { responses } = operations['post /query']!;
    expect(responses['200']!.content!['text/event-stream']!.schema).toMatchObject({
      anyOf: [
        ...['Message', 'Reasoning', 'ToolCall', 'ToolResult', 'File', 'Source', 'Result', 'Suggestions'],
        ...['InputRequired', 'InputResolved', 'Usage', 'Log', 'Progress', 'Done', 'Other'],
      ].map((name) => ({ $ref: `#/components/schemas/Query${name}Envelope` })),
    });
    const found = new Set<string>();
    for (const operation of Object.values(operations)) {
      for (const [status, { content }] of Object.entries(operation.responses)) {
        const schema = content?.['application/problem+json']?.schema as
          { properties?: { code: { 'x-extensible-enum': (keyof typeof STATUS_OF_CODE)[] } } } | undefined;
        for (const code of schema?.properties?.code['x-extensible-enum'] ?? []) {
          expect([code, STATUS_OF_CODE[code]]).toEqual([code, Number(status)]);
          found.add(code);
        }
      }
      expect(operation.responses).toHaveProperty('default');
    }
    expect([...found, ...NOT_BEFORE_A_STREAM].sort()).toEqual(Object.keys(STATUS_OF_CODE).sort());
  });

  it('has the path as the tag of an endpoint, unless the host has given it one', async () => {
    const tagged = QueryModule.forRoot({ handler, path: 'research' });
    ApiTags('agent')(tagged.controllers![0]!);
    await start([QueryModule.forRoot({ handler }), tagged]);
    const operations = operationsOf(documentOf());
    expect(operations['post /query']!.tags).toEqual(['query']);
    expect(operations['get /research/{runId}']!.tags).toEqual(['agent']);
  });

  it('changes nothing for callers, also when it is made after the start, and again', async () => {
    await start(QueryModule.forRoot({ handler }));
    const before = documentOf();
    expect((await ask(app, 'Hello')).text).toBe('Hi');
    expect(documentOf()).toEqual(before);
    expect((await ask(app, 'Hello')).text).toBe('Hi');
  });

  const handler = new ScriptedHandler([message('Hi')]);

  async function start(
    imports: Type | object | object[],
    configure: (host: INestApplication) => unknown = () => undefined,
  ): Promise<void> {
    @Module({ imports: [imports].flat() as Type[] })
    class AppModule {}
    const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = testing.createNestApplication(adapterNamed(adapter), { logger: false });
    configure(app);
  }

  function documentOf(version = '3.0.0'): OpenAPIObject {
    describeQueryModules(app);
    const config = new DocumentBuilder().setTitle('Agents').setOpenAPIVersion(version).build();
    return SwaggerModule.createDocument(app, config);
  }
});
