import { type Feature, hooksOf } from '../core/features/feature.ts';
import { agents } from '../features/agents/feature.ts';
import { cells } from '../features/cells/feature.ts';
import { compliance } from '../features/compliance/feature.ts';
import { customerCards } from '../features/customer-cards/feature.ts';
import { identity } from '../features/identity/feature.ts';
import { imports } from '../features/import/feature.ts';
import { mail } from '../features/mail/feature.ts';
import { mcp } from '../features/mcp/feature.ts';
import { platformEvents } from '../features/platform-events/feature.ts';
import { push } from '../features/push/feature.ts';
import { questions } from '../features/questions/feature.ts';
import { search } from '../features/search/feature.ts';
import { webhooks } from '../features/webhooks/feature.ts';
import { widgets } from '../features/widgets/feature.ts';

/**
 * The features of this build. A feature is its folder, its import and its entry: without them the
 * node starts, but its endpoints are not found. Endpoints, effects and removals follow this order.
 * A feature with settings or commands has the same two lines in config.ts and admin/commands.ts,
 * which are read before any feature is loaded.
 */
export const FEATURES: readonly Feature[] = [
  compliance, // One entry a line, which begins with the name: this comment keeps the lines apart.
  imports,
  mail,
  search,
  platformEvents,
  identity,
  widgets,
  push,
  questions,
  agents,
  webhooks,
  customerCards,
  cells,
  mcp,
];

/** The additions of features to other parts. */
export const HOOKS = hooksOf(FEATURES);
