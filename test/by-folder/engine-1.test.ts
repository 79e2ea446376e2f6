import { runTogether } from '../support/together.ts';

await runTogether('test/engine', 1, 2);
