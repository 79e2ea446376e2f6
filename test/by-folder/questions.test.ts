import { runTogether } from '../support/together.ts';

await runTogether('test/questions');
