/**
 * The works of the bench that send have figures, for ours and for every control.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, src/features/mail.
 */

import t from 'tap';
import { runBriefly } from '../../bench/brief.ts';

await runBriefly(t, 'sends');
