/** What a test file that runs together with others gets for `tap`: loaded once for each, with its URL in `of`. */

import { subtests } from './together.ts';

export default subtests.get(new URL(import.meta.url).searchParams.get('of') ?? '');
