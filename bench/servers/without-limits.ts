/**
 * The product without the limit on agents of an account, which a second of requests would reach.
 */

import { MAX_AGENTS } from '@parley/protocol/resources/agent-definition.ts';

Object.assign(MAX_AGENTS, { pro: Number.MAX_SAFE_INTEGER });
