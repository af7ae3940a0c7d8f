/**
 * Sorts the differences of a file into those of the list and others.
 *
 * @param known groups, each with `what` differs, the `files`, the `reason`, and `isFault` where the service is wrong; a group is
 * marked with the differences that were seen
 */
export function judge(examined, known) {
  const differences = examined.differences.map((difference) => ({
    ...difference,
    known: known.find(
      ({ what, files }) =>
        files.includes(examined.file) &&
        (difference.what === what || difference.what.startsWith(`${what} of `)),
    ),
  }));
  for (const { known: group } of differences) if (group) (group.seen ??= new Set()).add(examined.file);
  const isWrong = differences.some(({ known: group }) => !group || group.isFault);
  return { ...examined, differences, isWrong };
}
