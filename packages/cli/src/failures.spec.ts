import { AgentQueryError } from 'nest-agent-query-client';
import { EXIT } from './exit-codes.js';
import { exitCodeOf } from './failures.js';

describe('The exit code', () => {
  it.each([
    ['connection_lost', EXIT.noConnection],
    ['file_unreadable', EXIT.usage],
    ['limit_exceeded', EXIT.refused],
    ['constructor', EXIT.refused],
  ])('of a command that fails with %s is a number of its own', (code, exitCode) => {
    expect(exitCodeOf(new AgentQueryError(code, 'No.'))).toBe(exitCode);
  });
});
