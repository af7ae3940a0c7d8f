/** A server process: `node server.mjs <peer>`. Tells its port, and then what it has used whenever it is asked. */
import { PEERS } from './peers/index.mjs';

const { module, start } = PEERS[process.argv[2]];
const port = await (await import(`./peers/${module}.mjs`))[start]();

process.on('message', (question) => {
  // What is held is meant, not what is about to be given back.
  if (question.collect) for (let i = 0; i < 3; i++) globalThis.gc();
  const { user, system } = process.cpuUsage();
  process.send({
    cpu: (user + system) / 1e6,
    rss: process.memoryUsage.rss() / 1e6,
    peak: process.resourceUsage().maxRSS / 1e3,
  });
});
process.on('disconnect', () => process.exit());
process.send({ port });
