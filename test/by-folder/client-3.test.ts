import { runTogether } from '../support/together.ts';

await runTogether('packages/client/test', 3, 4);
