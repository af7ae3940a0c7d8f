/** A row of a table in docs/clients.md. */
export interface Client {
  name: string;
  /** What `--only` takes. */
  key: string;
  /** The packages whose versions the row has, by their names in the manifest of this folder. */
  packages: readonly string[];
  /** Its module in `asks`, and what that gets. */
  module: string;
  options?: Record<string, string>;
  /** Whether it needs Node 22. */
  isNewer?: boolean;
  /** What is set. Without it, the client is used as its README says. */
  settings: readonly string[];
  /** Where that is set, if it is not clear. */
  within?: string;
  /** Why a cell shows a fault that is not ours, by the keys of the columns. */
  reasons?: Record<string, string>;
}

/** The header that lets a repeated request attach to its run. */
export const HEADER = "headers: { 'Idempotency-Key': … }";
