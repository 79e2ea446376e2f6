import { NewQuestionCallbacks, QuestionCallbacks } from '@parley/protocol/resources/question-callbacks.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { findCallbacks, presentCallbacks, rotateCallbackSecret } from './callbacks.ts';

/** Returns the routes of the secret of callbacks, for admins. Closed to agents. */
export function callbackRoutes({ database }: Pick<NodeParts, 'database'>): Route[] {
  const common = { since: '1.5.harbor-preview.1', agents: false } as const;
  return [
    defineRoute({
      ...common,
      name: 'get_question_callbacks',
      method: 'GET',
      path: '/v1/account/question-callbacks',
      summary: 'Get how the callbacks of questions are signed',
      permission: 'webhooks:read',
      response: QuestionCallbacks,
      handle: async ({ principal }) => presentCallbacks(await findCallbacks(database, principal.accountId)),
    }),
    defineRoute({
      ...common,
      name: 'rotate_question_callback_secret',
      method: 'POST',
      path: '/v1/account/question-callbacks/actions/rotate-secret',
      summary: 'Give callbacks of questions a new secret; the one before signs as well for 24 hours',
      permission: 'webhooks:update',
      secret: true,
      status: 201,
      response: NewQuestionCallbacks,
      change: (tx, { principal, version }) => rotateCallbackSecret(tx, principal, version),
    }),
  ];
}
