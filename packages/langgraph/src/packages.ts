/** The classes of messages. A graph exists, so its packages are installed; the host may have them in another place. */
export async function messageClasses(): Promise<typeof import('@langchain/core/messages')> {
  return installed('@langchain/core', () => import('@langchain/core/messages'));
}

/** The class of commands, with which a graph is given an answer. */
export async function commandClass(): Promise<typeof import('@langchain/langgraph').Command> {
  return (await installed('@langchain/langgraph', () => import('@langchain/langgraph'))).Command;
}

async function installed<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const message = `The adapter for LangGraph needs the package ${name}. Run npm install ${name}.`;
    throw new Error(message, { cause: error });
  }
}
