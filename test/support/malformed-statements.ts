import { createLog, type Logger } from '../../src/platform/log.ts';

/**
 * Returns a quiet log for a node of a test. The test fails when Postgres finds a statement of the
 * node malformed: loops log that and go on, so that a statement that never worked was only slow.
 */
export function logWithoutMalformedStatements(): Logger {
  let isFound = false;
  return createLog('warn', {
    write: (line) => {
      if (isFound || !MALFORMED.test(line)) return;
      isFound = true;
      setImmediate(() => {
        throw new Error(`Postgres found a statement malformed: ${line}`);
      });
    },
  });
}

/** SQLSTATE of a syntax error, an unknown column, an unknown function, and an unknown type. */
const MALFORMED = /"code":"42(601|703|883|P18|704)"/;
