/**
 * The works of the bench about starts and about many rows have figures, for ours and for every
 * control.
 *
 * Without influence: PAGES, src/features/mail.
 */

import t from 'tap';
import { runBriefly } from '../../bench/brief.ts';

await runBriefly(t, 'rows');
