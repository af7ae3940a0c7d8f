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

  it('loses what exceeds 4 MiB while nobody reads the output, and says so when there is room again', () => {
    const lines: string[] = [];
    let waiting = 4 * 1024 * 1024 + 1;
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation((text) => lines.push(String(text)) > 0);
    const logger = new ServiceLogger('json', 'info', () => waiting);
    logger.log('one', 'Test');
    logger.warn('two', 'Test');
    logger.debug('not logged at all', 'Test');
    waiting = 0;
    logger.log('three', 'Test');
    write.mockRestore();
    expect(lines.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual([
      '2 entries of the log are lost: the reader of the output did not read.',
      'three',
    ]);
  });
});
