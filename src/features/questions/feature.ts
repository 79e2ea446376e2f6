import { ApiError, invalid } from '@parley/protocol/errors/errors.ts';
import { requirePermission } from '../../api/access/authorize.ts';
import type { Principal } from '../../api/access/principal.ts';
import { requireComing } from '../../core/conversations/participants/own-state.ts';
import type { Feature } from '../../core/features/feature.ts';
import type { QuestionsOfMessages } from '../../core/messages/rules/questions.ts';
import { handle } from '../../platform/db/queue/topic.ts';
import { readReceiverUrl } from '../../platform/outbound/address-guard.ts';
import { endEvent, QUESTION_ENDED_EVENT, readEnds } from './ended.ts';
import { openExpiry } from './expiry.ts';
import { holdings } from './holdings.ts';
import { QUESTION_ENDED } from './outbox-topics.ts';
import { questionRoutes } from './question-routes.ts';
import { checkQuestion, composeQuestion } from './question-rules.ts';
import { insertQuestion } from './question-store.ts';
import { endUnanswered, endWithdrawn } from './questions.ts';

const CALLBACK = 'question.callback_url';

/** Requires that the caller may have data of the account sent elsewhere. Throws ApiError. */
function requireCallbacks(principal: Principal): void {
  requirePermission(principal, 'webhooks:update');
  if (principal.actor.type !== 'agent') return;
  throw new ApiError('insufficient_permissions', 'Agents cannot set callback_url.');
}

const ofMessages: QuestionsOfMessages = {
  async check({ database, guard }, principal, body) {
    checkQuestion(body);
    const { expires_at: end, callback_url: url } = body.question!;
    if (end !== undefined) await requireComing(database, end, 'question.expires_at');
    if (url === undefined) return;
    requireCallbacks(principal);
    if (database.hooks.first('callbacks') === undefined) {
      throw invalid(CALLBACK, 'This installation posts no callbacks. Leave it out.');
    }
    readReceiverUrl(url, CALLBACK, guard);
  },
  compose: composeQuestion,
  async asked(tx, { id: message_id, conversation_id, account_id, question }, body) {
    const { callback_url = null } = body.question!;
    if (callback_url !== null) await tx.hooks.first('callbacks')?.require(tx, account_id, CALLBACK);
    const { expires_at } = question!;
    await insertQuestion(tx, { message_id, conversation_id, account_id, expires_at, callback_url });
  },
  withdrawn: endWithdrawn,
  withdraw: (tx, key) => endUnanswered(tx, key, 'withdraw'),
};

export const questions: Feature = {
  hooks: {
    questions: ofMessages,
    eventReaders: { [QUESTION_ENDED_EVENT]: readEnds },
    eventTopic: QUESTION_ENDED.name,
    holdings,
    guide: { name: 'workflows', file: new URL('guide.md', import.meta.url), place: 67 },
    operationTexts: new URL('operations.md', import.meta.url),
  },
  open(node) {
    const { database, disposer } = node;
    return {
      join({ happened }) {
        disposer.add('expiry of questions', openExpiry(node), (it) => it.close());
        return {
          routes: { messages: questionRoutes(node) },
          handlers: [
            handle(QUESTION_ENDED, (ended, isRepeated) => happened(endEvent(database, ended), isRepeated)),
          ],
        };
      },
    };
  },
};
