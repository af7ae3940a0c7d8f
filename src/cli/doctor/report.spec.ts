import { problem, ok } from './finding.js';
import { jsonOfReport, type Report, textOfReport } from './report.js';

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
  it('is aligned, and no server can steer the terminal', () => {
    expect(textOfReport(REPORT, { isColoured: false, width: Infinity })).toBe(`https://agent.example.com/query
Proxies: nginx (Server: nginx␛[2J)

✔ Service            answers in 7 ms at /query
✖ Large bodies       a proxy refuses bodies (413); its limit is between 1 MiB and 2 MiB
    nginx  client_max_body_size 768m; (the default is 1m)
    The limits of the service allow about 700 MiB: base64 makes files a third longer.

1 fine, 1 problem, 0 warnings, 0 not checked.
`);
  });

  it('has colours, and lines that a terminal need not break', () => {
    const text = textOfReport(REPORT, { isColoured: true, width: 60 });
    expect(text).toContain(`\u001b[31m✖\u001b[0m Large bodies       a proxy refuses bodies (413); its limit
                     is between 1 MiB and 2 MiB
\u001b[2m    nginx  client_max_body_size 768m; (the default is 1m)\u001b[0m
\u001b[2m    The limits of the service allow about 700 MiB: base64
    makes files a third longer.\u001b[0m
`);
  });

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
