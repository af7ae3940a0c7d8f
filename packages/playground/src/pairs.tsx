/** Names with their values. */
export function Pairs({ pairs }: { pairs: [name: string, value: string][] }) {
  return (
    <dl class="pairs">
      {pairs.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
