import type { Report } from 'nest-agent-query-doctor';
import { textOfReport } from './report-text.js';

const REPORT: Report = {
  url: 'https://agent.example.com/query',
  proxies: [{ name: 'nginx', header: 'Server: nginx\u001b[2J' }],
  findings: [
    {
      ...{ check: 'reachable', verdict: 'ok', measured: 'answers in 7 ms at /query' },
      ...{ fix: undefined, subject: undefined },
    },
    {
      ...{ check: 'bodies', verdict: 'problem', fix: 'body', subject: undefined },
      measured: 'a proxy refuses bodies (413); its limit is between 1 MiB and 2 MiB',
    },
  ],
  exitCode: 1,
};

describe('The report of the doctor as a text', () => {
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

  it('shows the header of a proxy that the doctor does not know', () => {
    const proxies: Report['proxies'] = [
      { name: 'apache', header: 'Server: Apache' },
      { name: 'unknown', header: 'Via: 1.1 foo' },
    ];
    const text = textOfReport({ ...REPORT, proxies }, { isColoured: false, width: Infinity });
    expect(text).toContain(`
Proxies: Apache (Server: Apache), Via: 1.1 foo, which the doctor does not know
`);
    expect(text).toContain(`
    Apache         nothing to set: LimitRequestBody is not for what it passes on; look at the next proxy
    unknown proxy  let it pass bodies of up to 768 MiB on
    The limits of the service allow about 700 MiB: base64 makes files a third longer.
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
});
