/** The fewest digits that are read as the same number. @param digits that are enough for each number */
export function shortestText(value: number, digits: number): string {
  for (let fewer = 1; fewer < digits; fewer += 1) {
    const text = Number(value.toPrecision(fewer));
    if (Math.fround(text) === value) return String(text);
  }
  return String(Number(value.toPrecision(digits)));
}

/** An exact number. @param scale digits behind its point, or zeros at its end if it is negative */
export function withPoint(unscaled: bigint, scale: number): string {
  if (scale <= 0) return String(unscaled * 10n ** BigInt(-scale));
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
