/**
 * The works of the bench about sockets and pages have figures, for ours and for every control, in
 * blocks of a fraction of a second. The other works measure by windows of their own or with up to a
 * million rows, and take minutes each.
 *
 * Without influence: OPERATION, ASIDE, PAGES, src/features/mail.
 */

import t from 'tap';
import { runBriefly } from '../../bench/brief.ts';

for (const name of ['p4', 'p5', 'p6', 'p10']) t.test(name, (t) => runBriefly(t, name));
