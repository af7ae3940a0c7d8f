export function faultIn(text: string): number | undefined;
export function readPlainly(bytes: Uint8Array): { value: unknown } | { error: true };
