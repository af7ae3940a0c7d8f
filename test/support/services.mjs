/**
 * A process in which its parent starts and stops services, so that the modules of the service are loaded once for many. The
 * process has the variables and the working directory of the service that was started last.
 */
import process from 'node:process';
import { createService, explain, listen } from '../../dist/internals.js';

const services = new Map();

async function start({ variables, directory }, number) {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, variables);
  process.chdir(directory);
  try {
    const service = await createService(variables);
    services.set(number, service.app);
    const routes = [];
    const fastify = service.app.getHttpAdapter().getInstance();
    fastify.addHook('onRoute', ({ method, url }) => void routes.push(`${method} ${url}`));
    await listen(service);
    const { address, port } = service.app.getHttpServer().address();
    return { url: `http://${address}:${port}`, routes };
  } catch (error) {
    return { refusal: explain(error, variables) };
  }
}

async function stop(number) {
  for (const each of number === 'all' ? [...services.keys()] : [number]) {
    const app = services.get(each);
    services.delete(each);
    await app.close();
  }
  return {};
}

process.on('message', async ({ number, started, stopped }) => {
  process.send({ number, ...(await (started ? start(started, number) : stop(stopped))) });
});
process.on('disconnect', () => process.exit());
