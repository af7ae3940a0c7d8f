/** Very many clients of all kinds at once. */
import { forEach } from './cut.mjs';
import { isComplete, open } from './connection.mjs';
import { formsOf, post, query, queryWithFiles } from './requests.mjs';

/** How many clients connect at the same time. */
const CONNECTING = 50;

const FORMS = Object.values(formsOf(queryWithFiles('echo crowd')));

/** What the clients of the crowd do when they are connected. */
const KINDS = {
  silent: () => undefined,
  'half a head': (connection) => void connection.send(post(query('echo x')).subarray(0, 30)),
  'half a body': (connection, random) =>
    void connection.send(
      random
        .pick(FORMS)({})
        .subarray(0, -1 - random.below(200)),
    ),
  garbage: (connection) => void connection.send('garbage \0\r\n\r\n'),
  'never reads': (connection) => {
    connection.socket.pause();
    connection.send(post(query('endless')));
  },
  'a whole query': (connection, random) => connection.send(random.pick(FORMS)({})).until(isComplete),
};

/** Which of them become runs. */
const BECOME_RUNS = ['never reads', 'a whole query'];

/** One in so many clients never reads: each of them costs the system some megabytes. */
const NEVER_READING = 100;

/** Opens so many connections that do different things, holds them all, and cuts them all. */
export async function crowd({ service, check, clients, random, expectRuns }) {
  const kinds = Object.keys(KINDS);
  const others = kinds.filter((kind) => kind !== 'never reads');
  const counts = Object.fromEntries(kinds.map((kind) => [kind, 0]));
  const connections = [];
  await forEach(clients, CONNECTING, async (n) => {
    const kind = n % NEVER_READING === 0 ? 'never reads' : random.pick(others);
    counts[kind]++;
    if (BECOME_RUNS.includes(kind)) expectRuns(1);
    const connection = await open(service.port);
    connections.push(connection);
    await KINDS[kind](connection, random);
  });
  const { running } = await service.until(({ followers }) => followers >= counts['never reads']);
  check(
    running >= counts['never reads'],
    `${running} runs of ${counts['never reads']} clients that never read`,
  );
  const { memory } = await service.report(true);
  await Promise.all(connections.map((connection, n) => connection.cut(n % 2 === 0)));
  return { ...counts, 'MB resident': Math.round(memory.rss / 1e6) };
}
