import { runTogether } from '../support/together.ts';

await runTogether('db', 2, 3);
