import { runTogether } from '../support/together.ts';

await runTogether('http', 2, 3);
