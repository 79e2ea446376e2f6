import { runTogether } from '../support/together.ts';

await runTogether('packages/console/test');
