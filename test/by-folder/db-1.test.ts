import { runTogether } from '../support/together.ts';

await runTogether('test/db', 1, 3);
