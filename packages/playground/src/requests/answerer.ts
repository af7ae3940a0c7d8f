/** Who has answered, in words. The service names the owners of its keys and tokens in a form of its own. */
export function answererOf(by: string | null): string {
  if (by === null || by === 'anonymous') return '';
  if (by.startsWith('key:')) return ` with the key “${by.slice(4)}”`;
  const [, subject] = /^jwt:\[(?:null|"(?:[^"\\]|\\.)*"),("(?:[^"\\]|\\.)*")\]$/.exec(by) ?? [];
  return ` by ${subject === undefined ? by : (JSON.parse(subject) as string)}`;
}
