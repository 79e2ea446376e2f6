/**
 * Stands in for `tap` in a test file that runs together with others. Loaded once for each file,
 * with its URL in `of`.
 */

import { subtests } from './together.ts';

export default subtests.get(new URL(import.meta.url).searchParams.get('of') ?? '');
