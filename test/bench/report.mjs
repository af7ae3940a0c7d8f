/** Writes what was measured as Markdown. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { arch, cpus, platform, release } from 'node:os';
import { MEASURES } from './measures.mjs';
import { PEERS } from './peers/index.mjs';
import { isPinned } from './process.mjs';
import { shown, targets } from './targets.mjs';

const ROOT = `${import.meta.dirname}/../..`;
const RATIO_BASE = 'raw';

const row = (cells) => `| ${cells.join(' | ')} |`;
const markdown = (head, rows) => [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');

/** The figures of one measure, a peer a line. */
export function table(id, rows) {
  const figures = Object.keys(Object.assign({}, ...Object.values(rows)));
  const lines = Object.entries(rows).map(([peer, one]) => [
    PEERS[peer].title,
    ...figures.map((name) => (one[name] === undefined ? '–' : shown(one[name]))),
    one['load core'] > 0.9 && one['server core'] < 0.9 ? 'bound by the client' : '',
  ]);
  const chart = MEASURES[id].chart ? `![${MEASURES[id].title}](${MEASURES[id].chart})\n\n` : '';
  return `### ${MEASURES[id].title}\n\n${chart}${markdown(['', ...figures, ''], lines)}\n`;
}

/** The first figure of each measure as a multiple of that of raw `node:http`. */
function ratios(results) {
  const compared = Object.keys(results).filter((id) => results[id][RATIO_BASE]);
  const first = (figures) => Object.values(figures)[0];
  const peers = Object.keys(PEERS).filter((peer) => compared.some((id) => results[id][peer]));
  const rows = peers.map((peer) => [
    PEERS[peer].title,
    ...compared.map((id) => {
      const ratio = first(results[id][peer] ?? {}) / first(results[id][RATIO_BASE]);
      return ratio ? shown(ratio) : '–';
    }),
  ]);
  const head = compared.map((id) => `${id}${MEASURES[id].isMore ? ' ↑' : ' ↓'}`);
  return markdown(['', ...head], rows);
}

function versionOf(name) {
  const folders = [`${import.meta.dirname}/node_modules/${name}`, `${ROOT}/node_modules/${name}`];
  const path = folders.map((folder) => `${folder}/package.json`).find((file) => existsSync(file));
  return JSON.parse(readFileSync(path, 'utf8')).version;
}

function versions() {
  const names = [...new Set(Object.values(PEERS).flatMap(({ packages }) => packages))];
  return names.map((name) => `${name} ${versionOf(name)}`).join(', ');
}

const git = (...args) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();

export function report(results, { rounds, scale, seconds, loadBefore, diskMs, lines }) {
  const [{ model }, ...others] = cpus();
  const commit = `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain', 'src') ? ' with changes' : ''}`;
  const reached = targets(results).map(({ what, measured, isReached }) => [
    what,
    measured,
    isReached ? 'yes' : '**no**',
  ]);
  return `# What was measured

Written by \`npm run bench\`, which repeats it.

- ${new Date().toISOString().slice(0, 10)}, commit ${commit}, Node ${process.version}
- ${model}, ${others.length + 1} cores, ${platform()} ${release()} ${arch()}; load average before: ${loadBefore.toFixed(2)}
- ${isPinned ? 'server on one core, load on another' : 'not pinned to cores: this system does not allow it'}; ${rounds} interleaved rounds (one in (b), (d), (e), (f), (h) and (j), for events a microtask apart, and for ai, hono and a2a-js), medians; scale ${scale}; ${seconds} s
- a commit on this disk, 4 KiB written and synced: ${shown(diskMs)} ms
- ${versions()}

"This service" is its whole path: body read and validated, a run made, each event logged, followed, sent and kept, with the
store in memory but in (h) and where it is said. An envelope carries about 20 characters.

## Ratios to raw node:http with a write per event of ready-made text

↑ more is better, ↓ less is better.

${ratios(results)}

## What it is to reach

${markdown(['', 'measured', 'reached'], reached)}

Where it falls short:

- Single events: what the write to the socket saves against raw \`node:http\` (one piece instead of four a chunk) pays for most
  of validating, logging and keeping each event, not for all of it. At 90,000 events/s, this service takes 15 to 50 % more
  of the core than raw does, which differs by machine. The log makes the heap grow; while the collector marks it, on the same
  core, the agents are late, and what they would have emitted is left out.
- Stalled clients hold what the system's buffers have swallowed of their answers: the log keeps what was sent, because a
  connection that is lost has not delivered it, up to \`totalLength\` of the store. The rows "keeping little" show the rest.

## Figures

${Object.keys(results)
  .map((id) => table(id, results[id]))
  .join('\n')}
### (m) agents: events a second that a caller gets, and those of the framework, the program or the service behind the agent alone

\`\`\`text
${lines.agents}
\`\`\`

### (n) usage: what it costs a query on a file that what it has used is added up

\`\`\`text
${lines.usage}
\`\`\`

## What can lie

- Absolute figures belong to one machine and hour; compare what stands in one table.
- Throughput is per second *of the server's core*: what other processes take of it is left out, what they do to its caches is
  not. "server core" below 1 in (a) and (g) tells that others were at work, or that the client could not keep up.
- Where the load process is at its limit, the row says so; delays in (b) hold the load process's own, which reads 5,000
  sockets on one core. One in 25 streams is looked at for its delays.
- (b) leaves out what a late server does not emit in time, as agents with timers do. A server that delivers all is not
  distinguished from one that could deliver more.
- Servers of (a), (c) and (g) live through all rounds, but in (a) and (g) each is warmed for 2.5 s before its first round and
  for 1.5 s before others: until its code is compiled and its heap is as large as it becomes, it may do half of what it does
  later. A short run of one's own, or one after a pause, sees that.
- The servers of (b) and (l) are new for each number of streams. Runs of this service go on for 30 s when their callers have
  left, so that a server that had other streams before would still be at work for these, and raw would not.
- (d) and "held" of (e) are growth of the resident set after a garbage collection, "peak" is with all garbage, of which there
  is the more the longer V8 waits before it collects. Peers that are slow may not have made what they would have to hold by
  the end of (e).
- In (e) the system's own buffers take some 3 MB of each answer before the sender is held back at all. Raw servers forget
  what these hold. This service keeps it, and all it sends, in the run's log for a client that resumes, up to
  \`totalLength\` of the store, 128 MiB unless the host says otherwise: that is what it holds by default. The rows "keeping
  little" have 4 MiB there, and show what the clients cost beside the logs. A client whose connection is lost there cannot
  resume from the beginning.
- In (f) the sender shares the machine, so that a slow sender hides a fast server: what throws the body away tells how fast
  it can send. The file is one random block again and again. Growth is how far the peak rises above the peak before, garbage
  included, and errs by some MB. The longest delay of the event loop holds the millisecond in which it is looked at. This
  service hashes the file and writes a large one to disk; Nest and raw \`node:http\` keep all in memory and hash nothing.
- (h) lies with the disk: one that says it has written when it has not, as many virtual ones do, makes a commit cost a
  fraction of what it costs elsewhere; see above what it is here. Its rates are those of the clock, unlike those of (a) and
  (g), and fall where others use the machine. A "core" is of the server's process: what Postgres uses is not in it, and
  Postgres runs on this machine, without a network between.
- (j) counts the processor time of the server's process, its threads included: what Postgres uses is not in it. A turn of the
  event loop, a millisecond apart, is in it for everyone. With one run, four events come at a time, and who sends them with
  one write has one write for four; with 10 runs and more, they are four events of four runs. What was opened is collected
  before, and so a cost of opening or of ending a run is not in it. Each point is the middle one of three looks of half a
  second: a rare long garbage collection is not in it, and what shares the caches at that time is. "Least delivered" is of
  the point that delivered the smallest part of its events.
- a2a-js keeps the artifact as it grows, and so becomes slower with each event: it is given 50 events instead of 1,000.
- \`ai\`, hono and better-sse send other or more bytes an event, as their users get them.
`;
}
