import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';

import { collect, contextOf, queryOf } from 'nest-agent-query/testing';
import { RemoteServer } from '../../../../test/support/remote-service.js';
import { modelHandler } from './index.js';

const STOP = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Yes' }, finish_reason: 'stop' }] })}\n\n`;

describe('The agent model without the package of the agent files', () => {
  it('says once what to install when it needs the text of a file, and answers', async () => {
    jest.unstable_mockModule('nest-agent-query-files', () => {
      throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
    });
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const endpoint = await RemoteServer.start();
    const handler = modelHandler({ baseUrl: endpoint.url, model: 'm', retries: 0 });
    for (let count = 0; count < 2; count++) {
      endpoint.answers((response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.end(`${STOP}data: [DONE]\n\n`);
      });
      const query = await queryOf([
        { name: 'a.bin', mimeType: 'application/x', content: Buffer.from([0, 1]) },
      ]);
      const [answer] = await collect(handler.handle(query, await contextOf()));
      expect(answer).toEqual({ type: 'message', data: { content: 'Yes' } });
    }
    expect(warned.mock.calls).toEqual([[expect.stringMatching(/run npm install nest-agent-query-files\.$/)]]);
    await handler.onApplicationShutdown();
    await endpoint.stop();
  });
});
