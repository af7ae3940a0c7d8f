/** What the service is to reach, held against what was measured. */
const ADAPTERS = [
  ['ours', 'oursLittle', 'nest', 'Express'],
  ['oursFastify', 'oursFastifyLittle', 'nestFastify', 'Fastify'],
];

const CLUSTERS = [
  ['clusterSignals', 'Signals'],
  ['clusterQueue', 'A queue'],
];

/** What several processes are to reach. */
const CLUSTER_TARGETS = [
  ['local first, to one alone', 'first event where admitted, within 1.2 of one process', 1.2, ' ×'],
  ['first p50 ms', 'first event in another process, p50 under 10 ms', 10, ' ms'],
  ['follow p50 ms', 'followed elsewhere at 20,000 events/s, p50 under 15 ms', 15, ' ms'],
  ['cancel p50 ms', 'cancel from another process, p50 under 30 ms', 30, ' ms'],
  ['resume p50 ms', 'resume after kill -9, p50 under 50 ms', 50, ' ms'],
  ['lost process s', 'lost process, done under 15 s', 15, ' s'],
  ['idle core', 'idle, under 1 % of a core', 0.01, ''],
  ['connections', 'idle, at most 8 connections a process', 8, ''],
];

const STORES = [
  ['oursFile', 'A file', { queries: 0.6, cpu: 2, burst: 0.7 }],
  ['oursPostgres', 'Postgres', { queries: 0.3, cpu: 3, burst: 0.5 }],
];

/** @returns each target, what was measured and whether that reaches it */
export function targets(results) {
  return [
    ...adapterTargets(results),
    ...serviceTargets(results),
    ...STORES.flatMap((store) => storeTargets(results.store, ...store)),
    ...latencyTargets(results.latency),
    ...clusterTargets(results.cluster),
    ...protocolTargets(results.protocols),
  ];
}

/**
 * The views of other protocols, the stream of this service that keeps as much (turns, or none), and the common way to serve
 * each.
 */
const VIEWS = [
  ['oursAiSdk', 'AI SDK', 'oursConversation', 'ai'],
  ['oursAgUi', 'AG-UI', 'oursConversation', 'agUi'],
  ['oursResponses', 'Responses', 'oursConversation'],
  ['oursChat', 'Chat Completions', 'oursProtocols'],
];

/** The whole service beside what most people write by hand, and beside its module in a host. */
function serviceTargets({ queries, first, start }) {
  const ratio = (rows, figure, peer) => rows.service[figure] / rows[peer][figure];
  const service = (what, value, isReached) => ({
    what: `Service: ${what}`,
    measured: `${shown(value)} ×`,
    isReached,
  });
  const least = (what, value, bound) => service(what, value, value >= bound);
  const most = (what, value, bound) => service(what, value, value <= bound);
  return [
    least('small queries, at least 1.5 times Nest @Sse', ratio(queries, 'queries/s', 'nestFastify'), 1.5),
    most(
      'processor of a small query, within 1.15 of the module',
      1 / ratio(queries, 'queries/s', 'oursFastify'),
      1.15,
    ),
    most('first event within 1.1 of Nest @Sse (p50)', ratio(first, 'p50 ms', 'nestFastify'), 1.1),
    most('start within 1.15 of Nest @Sse', ratio(start, 'ms', 'nestFastify'), 1.15),
    most('memory after it within 1.1 of Nest @Sse', ratio(start, 'MB', 'nestFastify'), 1.1),
  ];
}

function protocolTargets(results) {
  const times = (peer, base) => results[peer]['events/s'] / results[base]['events/s'];
  const least = (what, value, bound) => ({
    what,
    measured: `${shown(value)} ×`,
    isReached: value >= bound,
  });
  return VIEWS.flatMap(([view, name, own, common]) => [
    least(`${name}: bursts, at least 0.6 of the stream of this service`, times(view, own), 0.6),
    ...(common === undefined
      ? []
      : [least(`${name}: bursts, at least 5 times the common way`, times(view, common), 5)]),
  ]);
}

function clusterTargets(results) {
  return CLUSTERS.flatMap(([peer, name]) =>
    CLUSTER_TARGETS.map(([figure, what, bound, unit]) => ({
      what: `${name}: ${what}`,
      measured: `${shown(results[peer][figure])}${unit}`,
      isReached: results[peer][figure] <= bound,
    })),
  );
}

/** What a store is to reach, to the store in memory. */
function storeTargets(results, peer, name, { queries, cpu, burst }) {
  const { oursFastify: memory, [peer]: durable } = results;
  const cpuOf = (figures) => figures['query core'] / figures['queries/s'];
  const ratio = (figure) => durable[figure] / memory[figure];
  const least = (what, value, bound) => ({
    what: `${name}: ${what}, at least ${bound} of memory`,
    measured: `${shown(value)} ×`,
    isReached: value >= bound,
  });
  const growth = cpuOf(durable) / cpuOf(memory);
  return [
    least('small queries, 32 at once', ratio('queries/s'), queries),
    least('bursts', ratio('burst events/s'), burst),
    {
      what: `${name}: CPU of a small query, at most ${cpu} times memory`,
      measured: `${shown(growth)} ×`,
      isReached: growth <= cpu,
    },
  ];
}

/** What a file is to reach: the most of a figure, or the most that it may be over memory. */
const LATENCIES = [
  ['500 p50 ms', 2],
  ['1000 p50 ms', 5],
  ['1000 p99 ms', 40],
  ['1000 µs an event', 26],
  ['5000 p50 ms', 100],
];

function latencyTargets({ oursFastify: memory, oursFile: file, raw }) {
  const within = (what, value, bound) => ({
    what: `${what}, at most ${bound}`,
    measured: shown(value),
    isReached: value <= bound,
  });
  const least = (what, value, bound) => ({
    what: `${what}, at least ${bound}`,
    measured: shown(value),
    isReached: value >= bound,
  });
  const over = file['first p50 ms'] - memory['first p50 ms'];
  return [
    within('A file: first event, ms over memory', over, 0.7),
    ...LATENCIES.map(([figure, bound]) => within(`A file: streams, ${figure}`, file[figure], bound)),
    least('A file: 1,000 streams, delivered', file['1000 delivered'], 0.99),
    least('Memory: 5,000 streams, to raw', memory['5000 delivered'] / raw['5000 delivered'], 0.9),
    least('A file: 5,000 streams, to memory', file['5000 delivered'] / memory['5000 delivered'], 0.9),
  ];
}

function adapterTargets(results) {
  return ADAPTERS.flatMap(([ours, little, nest, adapter]) => {
    const figure = (id, peer, name) => results[id][peer][name ?? Object.keys(results[id][peer])[0]];
    const times = (id, peer) => figure(id, ours) / figure(id, peer);
    const least = (what, value, bound, unit = '') => ({
      what: `${adapter}: ${what}`,
      measured: `${shown(value)}${unit}`,
      isReached: value >= bound,
    });
    const most = (what, value, bound, unit = '') => ({
      ...least(what, value, 0, unit),
      isReached: value <= bound,
    });
    const cut = (peer) => figure('stalled', peer, 'streams cut');
    return [
      least('bursts, at least 10 times Nest @Sse', times('burst', nest), 10, ' ×'),
      least('bursts, at least 3 times better-sse', times('burst', 'betterSse'), 3, ' ×'),
      least('bursts, faster than raw with ready-made text', times('burst', 'raw'), 1, ' ×'),
      least(
        'bursts with an id, at least 0.7 of raw per tick',
        figure('burst full', ours) / figure('burst full', 'limit'),
        0.7,
        ' ×',
      ),
      most('one event per tick, within 1.2 of raw', 1 / times('tick', 'raw'), 1.2, ' ×'),
      least('100,000 single events/s, at least 0.95 of raw', times('pace1', 'raw'), 0.95, ' ×'),
      least('groups of four, all delivered', figure('pace4', ours), 0.99),
      most('groups of four, p50 under 1 ms', figure('pace4', ours, 'p50 ms'), 1, ' ms'),
      most('groups of four, at most half a core', figure('pace4', ours, 'server core'), 0.5),
      most('a query with 200 bytes, not slower than Nest @Sse', times('body 200 bytes', nest), 1, ' ×'),
      most('first event within 1.2 of Nest @Sse (p50)', times('first', nest), 1.2, ' ×'),
      most('an idle stream, at most 32 kB', figure('idle', ours), 32, ' kB'),
      most('100 stalled clients, at most 20 MB held', figure('stalled', ours), 20, ' MB'),
      most('the same, keeping little of its logs', figure('stalled', little), 20, ' MB'),
      most('100 stalled clients, none cut', cut(ours) + cut(little), 0),
      least('small queries, not below Nest @Sse', times('queries', nest), 1, ' ×'),
    ];
  });
}

/** A figure with three digits that count. */
export function shown(value) {
  if (value >= 1000) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}
