import { runTogether } from '../support/together.ts';

await runTogether('db', 3, 3);
