export function table(id, rows) {
  return (
    id +
    '\n' +
    Object.entries(rows)
      .map(
        ([p, f]) =>
          p.padEnd(14) +
          Object.entries(f)
            .map(([k, v]) => `${k} ${v >= 1000 ? Math.round(v) : +v.toPrecision(3)}`)
            .join('   '),
      )
      .join('\n')
  );
}
export function report() {
  return '';
}
