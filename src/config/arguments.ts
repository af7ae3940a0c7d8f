/** The arguments of the service, and the variables that they set. */
const VARIABLES: Record<string, NodeJS.ProcessEnv> = { '--watch': { WATCH: 'true' } };

/** The variables that the arguments of the service set, and what is wrong with the arguments. */
export function variablesOf(parameters: string[]): { variables: NodeJS.ProcessEnv; faults: string[] } {
  const known = Object.keys(VARIABLES);
  const faults = parameters
    .filter((parameter) => !known.includes(parameter))
    .map(
      (parameter) =>
        `${JSON.stringify(parameter)} is not an argument of this service. It takes ${known.join(', ')}; ` +
        'variables of the environment set everything else.',
    );
  return {
    variables: Object.assign({}, ...parameters.map((each) => VARIABLES[each])) as NodeJS.ProcessEnv,
    faults,
  };
}
