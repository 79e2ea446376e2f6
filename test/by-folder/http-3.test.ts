import { runTogether } from '../support/together.ts';

await runTogether('test/http', 3, 3);
