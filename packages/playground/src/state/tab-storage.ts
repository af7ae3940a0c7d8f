const PREFIX = 'nest-agent-query:';

/** What could not be stored: until the page is loaded again, it is here. */
const memory = new Map<string, string>();

/** Keeps a text in this tab, over reloads. A browser may forbid that, or have no space left. */
export function keepInTab(name: string, text: string): void {
  try {
    sessionStorage.setItem(PREFIX + name, text);
    memory.delete(name);
  } catch {
    memory.set(name, text);
  }
}

/** A text that this tab keeps. */
export function keptInTab(name: string): string | undefined {
  try {
    return memory.get(name) ?? sessionStorage.getItem(PREFIX + name) ?? undefined;
  } catch {
    return undefined;
  }
}

export function removeFromTab(name: string): void {
  memory.delete(name);
  try {
    sessionStorage.removeItem(PREFIX + name);
  } catch {
    // It is in the memory only.
  }
}
