import base, { LONG } from '../../jest.config.js';

/** The suites that `npm test` leaves out because they take long. */
export default {
  ...base,
  rootDir: '../..',
  testPathIgnorePatterns: ['/node_modules/', `^(?!.*${LONG})`],
};
