/**
 * Tries cases until there is none left, or for some time. Each lane is a service of its own, and takes the next case when it has
 * tried one.
 *
 * @param lanes objects with a method `try`
 * @param cases an iterator, which the lanes share
 * @param seconds after this time no lane begins another case
 */
export async function tryCases(lanes, cases, seconds) {
  const until = performance.now() + seconds * 1000;
  await Promise.all(
    lanes.map(async (lane) => {
      for (const fault of cases) {
        await lane.try(fault);
        if (performance.now() > until) return;
      }
    }),
  );
}
