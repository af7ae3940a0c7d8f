import { A2aModule } from 'nest-agent-query-protocols/a2a';
import { get } from '../support/client.js';
import { describeOnOneAdapter } from '../support/host.js';
import { CURSORS, echo, startA2a } from './a2a-host.js';

const CARD = '/.well-known/agent-card.json';

describeOnOneAdapter('The agent card on %s', (adapter) => {
  it('says what the agent can do [CARD-DISC-001 CARD-PROTO-001 CARD-PROTO-002 CARD-STRUCT-001 BIND-FIELD-001 test_agent_card_available test_mandatory_fields_present test_mandatory_field_types test_agent_card_mandatory_fields test_agent_card_capabilities_mandatory test_agent_card_skills_mandatory test_agent_card_input_output_modes_mandatory test_agent_card_basic_info_mandatory test_transport_compliance_validation test_capabilities_structure test_agent_extensions_structure test_agent_interfaces_structure]', async () => {
    const host = await startA2a(adapter, echo);
    const reply = await get(host.url, CARD);
    expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    const url = `${host.url}/a2a`;
    expect(await reply.json()).toEqual({
      name: 'agent',
      description: 'agent answers messages.',
      supportedInterfaces: [
        { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      ],
      version: '1.0.0',
      capabilities: {
        streaming: true,
        pushNotifications: false,
        extensions: [{ uri: CURSORS, description: expect.any(String) as string, required: false }],
        extendedAgentCard: false,
      },
      defaultInputModes: ['text/plain', 'application/json', '*/*'],
      defaultOutputModes: ['text/plain', 'application/json', '*/*'],
      skills: [{ id: 'answer', name: 'agent', description: 'agent answers messages.', tags: ['agent'] }],
      protocolVersion: '0.3.0',
      url,
      preferredTransport: 'JSONRPC',
      additionalInterfaces: [{ url, transport: 'JSONRPC' }],
      supportsAuthenticatedExtendedCard: false,
    });
    await host.close();
  });

  it('is cached [CARD-CACHE-001 CARD-CACHE-002]', async () => {
    const host = await startA2a(adapter, echo);
    const { headers } = await get(host.url, CARD);
    expect(headers['cache-control']).toBe('public, max-age=300');
    expect(headers.etag).toMatch(/^"[\da-f]{64}"$/);
    const known = await get(host.url, CARD, { 'if-none-match': `"other", W/${headers.etag}` });
    expect([known.status, await known.whole(), known.headers.etag]).toEqual([304, '', headers.etag]);
    expect((await get(host.url, CARD, { 'if-none-match': '"other"' })).status).toBe(200);
    await host.close();
  });
});

describeOnOneAdapter('The options of the agent card on %s', (adapter) => {
  it('are told', async () => {
    const card = {
      ...{ name: 'Geo', description: 'Plans routes.', version: '2.1.0' },
      provider: { organization: 'Example', url: 'https://example.com/' },
      skills: [
        { id: 'route', name: 'Route', description: 'Plans a route.', tags: ['maps'], examples: ['To Rome'] },
      ],
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain', 'image/png'],
      documentationUrl: 'https://example.com/docs',
      iconUrl: 'https://example.com/icon.png',
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    };
    const host = await startA2a(adapter, echo, {}, { card, url: 'https://agents.example.com/geo/a2a' });
    expect(await (await get(host.url, CARD)).json()).toMatchObject({
      ...card,
      supportedInterfaces: [{ url: 'https://agents.example.com/geo/a2a' }, {}],
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
      url: 'https://agents.example.com/geo/a2a',
      security: [{ bearer: [] }],
    });
    await host.close();
  });

  it('tell the security schemes to clients of both versions [test_authentication_structure]', async () => {
    const flows = { clientCredentials: { tokenUrl: 'https://id.example/token', scopes: { ask: 'Asks.' } } };
    const securitySchemes = {
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
      key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
      oauth: { oauth2SecurityScheme: { flows } },
      oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://id.example/.well-known' } },
      mtls: { mtlsSecurityScheme: {} },
      other: { otherScheme: { a: 1 } },
    };
    const securityRequirements = [{ schemes: { bearer: { list: [] }, oauth: { list: ['ask'] } } }];
    const host = await startA2a(adapter, echo, {}, { card: { securitySchemes, securityRequirements } });
    expect(await (await get(host.url, CARD)).json()).toMatchObject({
      securityRequirements,
      security: [{ bearer: [], oauth: ['ask'] }],
      securitySchemes: {
        bearer: { ...securitySchemes.bearer, type: 'http', scheme: 'Bearer', bearerFormat: 'JWT' },
        key: { ...securitySchemes.key, type: 'apiKey', in: 'header', name: 'X-API-Key' },
        oauth: { ...securitySchemes.oauth, type: 'oauth2', flows },
        oidc: {
          ...securitySchemes.oidc,
          type: 'openIdConnect',
          openIdConnectUrl: 'https://id.example/.well-known',
        },
        mtls: { ...securitySchemes.mtls, type: 'mutualTLS' },
        other: securitySchemes.other,
      },
    });
    await host.close();
  });

  it('are checked at the start', () => {
    const faults = [
      ...[
        'titel is no member of it.',
        'name must be a text.',
        'defaultInputModes must be a list of media types.',
      ],
      'skills must be a list of { id, name, description, tags }, with at least one.',
      'provider must be { organization, url }.',
      'securitySchemes must have an object for each name.',
      'securityRequirements must be a list of { schemes }.',
    ];
    const card = {
      ...{ titel: 'x', name: '', defaultInputModes: [], skills: [{ id: 'a' }], provider: {} },
      ...{ securitySchemes: { a: 1 }, securityRequirements: {} },
    };
    expect(() => A2aModule.forRoot({ card: card as never })).toThrow(
      faults.map((fault) => `A2aModule: of the option "card", ${fault}`).join('\n'),
    );
    expect(() => A2aModule.forRoot({ card: [] as never })).toThrow('it must be an object.');
  });
});
