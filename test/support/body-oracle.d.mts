export function faultIn(text: string): number | undefined;
export function plainly(bytes: Uint8Array): { value: unknown } | { error: true };
