/**
 * The works of the bench about sockets have figures, for ours and for every control.
 *
 * Without influence: OPERATION, ASIDE, PAGES, src/features/mail.
 */

import t from 'tap';
import { runBriefly } from '../../bench/brief.ts';

await runBriefly(t, 'sockets');
