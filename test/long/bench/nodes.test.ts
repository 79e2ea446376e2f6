/**
 * The works of the bench about whole nodes (idle, steadily loaded or several) have figures, for
 * ours and for every control.
 *
 * Without influence: OPERATION, ASIDE, PAGES, src/features/mail.
 */

import t from 'tap';
import { runBriefly } from '../../bench/brief.ts';

await runBriefly(t, 'nodes');
