import { agentFailure } from './failures.js';

const SECRET = 'sk-secret';

describe('What an error of an agent means', () => {
  it.each([
    // codex-acp 0.16.0
    [-32603, 'Internal error', { message: `unexpected status 401 Unauthorized: Bad ${SECRET}, url: http://127.0.0.1:1/v1` }, 'handler_failed', 'refuses the credential'],
    [-32603, 'Internal error', { message: 'exceeded retry limit, last status: 429 Too Many Requests', codex_error_info: { response_too_many_failed_attempts: { http_status_code: 429 } } }, 'rate_limited', 'too many requests'],
    [-32603, 'Internal error', { message: `stream disconnected before completion: error sending request for url (http://${SECRET}/)` }, 'unavailable', 'cannot be reached'],
    [-32603, 'Internal error', { message: 'stream disconnected before completion: stream closed before response.completed' }, 'interrupted', 'was cut'],
    [-32603, 'Internal error', { message: 'unexpected status 500 Internal Server Error: oops' }, 'unavailable', 'status 500'],
    // gemini-cli 0.61.0: the status is the code
    [401, `API key ${SECRET} not valid`, undefined, 'handler_failed', 'refuses the credential'],
    [400, 'Bad request', undefined, 'handler_failed', 'refused the request with the status 400'],
    [500, 'terminated', undefined, 'interrupted', 'was cut'],
    // opencode, qwen, claude-acp: in `data.details`, in `data`, in `message`
    [-32603, 'Internal error', { details: '429 Rate limit reached' }, 'rate_limited', 'too many requests'],
    [-32603, 'Internal error', `503 Service Unavailable ${SECRET}`, 'unavailable', 'status 503'],
    [-32603, `API Error: 401 {"error":"${SECRET}"}`, undefined, 'handler_failed', 'refuses the credential'],
    [-32603, 'prompt is too long: 250000 tokens', undefined, 'limit_exceeded', 'longer than the model can take'],
    [-32603, `Internal error: Incorrect API key provided: ${SECRET}`, { errorName: 'APIError' }, 'handler_failed', 'The agent failed.'],
    [-32000, 'Authentication required', undefined, 'handler_failed', 'must be signed in by the operator'],
    [-32603, 'Internal error', undefined, 'handler_failed', 'The agent failed.'],
    [-32602, `No such file /home/${SECRET}`, { stack: 'at x (/srv/a.js:3:1)' }, 'handler_failed', 'The agent failed.'],
  ])('%i %s %j', (code, message, data, expected, sentence) => {
    const failure = agentFailure(Object.assign(new Error(message), { code, data }), true === (expected === 'interrupted'));
    expect(failure.code).toBe(expected);
    expect(failure.detail).toContain(sentence);
    expect(failure.detail).not.toMatch(/sk-secret|\/srv|\/home|127\.0\.0\.1/);
    expect(failure.cause).toBeDefined();
  }); // prettier-ignore

  it('is that it has ended, if it is no error of the protocol', () => {
    for (const error of [new Error('closed'), undefined, null, 'text', { code: 'EPIPE' }])
      expect(agentFailure(error, true)).toMatchObject({ code: 'interrupted', cause: error });
  });

  it('is found in errors of any shape and depth', () => {
    let deep: unknown = '429';
    for (let depth = 0; depth < 10_000; depth++) deep = { deep };
    expect(agentFailure({ code: -32603, message: 5, data: deep }, false).code).toBe('handler_failed');
  });
});
