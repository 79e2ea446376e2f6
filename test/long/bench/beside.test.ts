/**
 * Sends have figures beside every kind of background work and without it.
 *
 * Without influence: OPERATION, PAGES.
 */

import t from 'tap';
import { runBriefly } from '../../bench/brief.ts';

await runBriefly(t, 'beside');
