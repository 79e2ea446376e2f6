import { runTogether } from '../support/together.ts';

await runTogether('test/db', 3, 3);
