import type { OperatorDatabase } from 'nest-agent-query-cli';

/** Opens a database for the commands that look after it; see `openForOperator`. */
export async function openDatabase(url: string, mayBeNew: boolean): Promise<OperatorDatabase> {
  const { AgentService, Clock, Settings } = await import('../query/index.js');
  const { Spool } = await import('../query/files/spool.js');
  const { ownerOfModule } = await import('../query/sharing/owners.js');
  const { openForOperator } = await import('../stores/operator-database.js');
  const { driver, store } = await openForOperator(url, mayBeNew);
  const spool = await Spool.open();
  const handler = { handle: () => Promise.reject(new Error('A command executes no run.')) };
  return {
    name: driver.name,
    isShared: driver.isShared,
    db: driver.db as unknown as OperatorDatabase['db'],
    store,
    ownerOf: ownerOfModule,
    eraseOwner: (stored) => {
      const { module, owner } = ownerOfModule(stored);
      const settings = new Settings({}, module === '' ? {} : { name: module });
      return new AgentService(store, handler, settings, spool, new Clock()).eraseOwner(owner);
    },
    close: async () => {
      await store.close();
      await spool.close();
    },
  };
}
