import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ServiceLogger } from './logger.js';

describe('The log of the service', () => {
  it('has what the service reports, and not the steps of the start of Nest', () => {
    const lines: string[] = [];
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation((text) => lines.push(String(text)) > 0);
    Logger.overrideLogger(new ServiceLogger());
    new Logger('Database').log('The database is back after 1.5 s.');
    new Logger('RouterExplorer').log('Mapped {/query, POST} route');
    new Logger('Database').debug('A connection was lost.');
    write.mockRestore();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/LOG.*\[Database\].*The database is back after 1\.5 s\./);
  });
});
