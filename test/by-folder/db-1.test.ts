import { runTogether } from '../support/together.ts';

await runTogether('db', 1, 3);
