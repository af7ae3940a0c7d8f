import { problem, ok } from './finding.js';
import { jsonOfReport, type Report } from './report.js';

const REPORT: Report = {
  url: 'https://agent.example.com/query',
  proxies: [{ name: 'nginx', header: 'Server: nginx\u001b[2J' }],
  findings: [
    ok('reachable', 'answers in 7 ms at /query'),
    problem('bodies', 'a proxy refuses bodies (413); its limit is between 1 MiB and 2 MiB', 'body'),
  ],
  exitCode: 1,
};

describe('The report of the doctor', () => {
  it('is JSON for programs', () => {
    expect(JSON.parse(jsonOfReport(REPORT))).toEqual({
      url: 'https://agent.example.com/query',
      proxies: REPORT.proxies,
      findings: [
        { check: 'reachable', verdict: 'ok', measured: 'answers in 7 ms at /query', fixes: [] },
        {
          check: 'bodies',
          verdict: 'problem',
          measured: 'a proxy refuses bodies (413); its limit is between 1 MiB and 2 MiB',
          fixes: [
            { proxy: 'nginx', text: 'client_max_body_size 768m; (the default is 1m)' },
            { text: 'The limits of the service allow about 700 MiB: base64 makes files a third longer.' },
          ],
        },
      ],
      exitCode: 1,
    });
  });
});
