/** Imports a module that needs optional packages. */
export async function importWith<T>(packages: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const message = `This database needs packages that are not installed. Run npm install ${packages}.`;
    throw new Error(message, { cause: error });
  }
}
