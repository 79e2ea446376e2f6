import { runTogether } from '../support/together.ts';

await runTogether('http', 3, 3);
