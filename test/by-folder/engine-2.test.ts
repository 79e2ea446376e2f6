import { runTogether } from '../support/together.ts';

await runTogether('test/engine', 2, 2);
