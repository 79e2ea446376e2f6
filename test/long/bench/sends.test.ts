/**
 * The works of the bench that send have figures, for ours and for every control, in blocks of a
 * fraction of a second.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, src/features/mail.
 */

import t from 'tap';
import { runBriefly } from '../../bench/brief.ts';
import { findProgram } from '../../support/debian-program.ts';

await findProgram({
  names: ['pgbench'],
  package: 'postgresql',
  advice: 'the bench needs pgbench (Debian and Ubuntu: apt-get install postgresql)',
});

for (const name of ['p2', 'p3', 'webhooks']) t.test(name, (t) => runBriefly(t, name));
